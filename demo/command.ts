import { spawnTied } from '../platform/process/tied-child.ts';
import { DemoError, LIMIT_MS } from './demo-error.ts';

/** A command that runs to its end. */
export interface Command {
  /** As a user would type it. */
  readonly shown: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/**
 * Runs a command and gives all that it printed.
 *
 * @throws {DemoError} with its own words when it fails or takes too long.
 */
export async function runCommand(command: Command): Promise<string> {
  const { shown, program, args, env, cwd } = command;
  const child = spawnTied(program, args, { env, cwd, stdout: 'pipe', stderr: 'pipe' });
  let output = '';
  const ends = [child.stdout, child.stderr].map(
    (stream) =>
      new Promise<void>((resolve) => {
        stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
        stream?.on('close', resolve);
      }),
  );
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    void child.stop(0);
  }, LIMIT_MS);
  const { code } = await child.exited;
  clearTimeout(limit);
  await Promise.all(ends);
  if (code === 0) return output;
  const why = late ? `was not done after ${LIMIT_MS / 1000} s` : `ended with exit code ${code}`;
  throw new DemoError(`\`${shown}\` ${why}: ${lastLine(output)}`);
}

/** The arguments as a shell wants them. */
export function quoted(args: readonly string[]): string {
  return args
    .map((arg) => (/^[A-Za-z0-9_./:=,@-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}
