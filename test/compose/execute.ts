import { spawn } from 'node:child_process';

/** How a program ended. */
export interface Ran {
  /** null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecuteOptions {
  /** On top of this process' own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
  /** SIGTERM after this time. Default: none. */
  readonly timeoutMs?: number;
}

/** Runs a program to its end, and gives all that it wrote. One that is not there ends with 127. */
export function execute(
  command: string,
  args: readonly string[],
  { env, cwd, input, timeoutMs }: ExecuteOptions = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
      ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.on('error', (error) => resolve({ code: 127, stdout, stderr: error.message }));
    child.on('close', (code) => resolve({ code, stdout, stderr }));
    // It may end without reading.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input ?? '');
  });
}

/**
 * Runs a program that is to succeed, and gives its standard output.
 *
 * @throws {Error} with its last words when it does not end with 0.
 */
export async function must(
  command: string,
  args: readonly string[],
  options: ExecuteOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await execute(command, args, options);
  if (code === 0) return stdout;
  const lastWords = `${stdout}\n${stderr}`.trim().split('\n').slice(-30).join('\n  ');
  throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n  ${lastWords}`);
}
