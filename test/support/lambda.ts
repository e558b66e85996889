import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from './eventually.ts';
import { fromRun, TEST_MANAGER } from './run.ts';

const ROOT = join(import.meta.dirname, '../..');

/** What Lambda is to a handler: a process that imports it, and calls it for each event. */
export interface Lambda {
  invoke(event: unknown): Promise<Readonly<Record<string, unknown>>>;
  output(): string;
  /** Ends the process as Lambda does: without a word. */
  end(): Promise<void>;
}

/** The built handler; where a source has changed since the build, the sources. */
export async function handlerFile(): Promise<string> {
  const bundle = (await import(pathToFileURL(join(ROOT, 'cli/bundle.js')).href)) as {
    readonly freshBundle: () => string | undefined;
  };
  return join(ROOT, bundle.freshBundle() === undefined ? 'cli/lambda.ts' : 'dist/lambda.js');
}

export function startLambda(file: string, env: Readonly<Record<string, string>>): Lambda {
  const caller = join(import.meta.dirname, 'fixtures/lambda-caller.ts');
  const places = { KUBECONFIG: fromRun('kubeconfig'), TETHER_REDIS_URL: fromRun('redisUrl') };
  const child = spawn(process.execPath, [caller, file], {
    env: { ...process.env, ...places, TETHER_MANAGER: TEST_MANAGER, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const answers = (): string[] => output.match(/^answer .*$/gm) ?? [];
  return {
    invoke: async (event) => {
      const before = answers().length;
      child.stdin.write(`${JSON.stringify(event)}\n`);
      const answer = await eventually(() => {
        const found = answers()[before];
        if (found === undefined) throw new Error(`no answer yet:\n${output}`);
        return found;
      });
      return JSON.parse(answer.slice('answer '.length)) as Readonly<Record<string, unknown>>;
    },
    output: () => output,
    end: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
