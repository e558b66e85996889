import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { spawnTied, type ChildExit } from '../platform/process/tied-child.ts';
import { DemoError, LIMIT_MS } from './demo-error.ts';
import { within } from './within.ts';

/** A role of Tether, running as a process of its own. */
export interface TetherProcess {
  /** What a user types: `tether worker`. */
  readonly shown: string;
  /** `tether worker (pid 4711)` */
  readonly name: string;
  readonly pid: number;
  /** Resolves once it says that it is ready. */
  readonly ready: Promise<void>;
  /** How many reconciles that wrote something it has logged so far. */
  writes(): number;
  /** SIGKILL: no chance to clean up. */
  kill(): Promise<void>;
  /** SIGTERM, as an orderly stop. */
  stop(): Promise<void>;
}

export interface TetherProcessOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** `tether worker` */
  readonly shown: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
}

/** Starts a role; its log goes into a file, and is read for what it says it did. */
export function startTetherProcess(options: TetherProcessOptions): TetherProcess {
  const { program, args, shown, env, logFile } = options;
  const child = spawnTied(program, args, { env, stdout: 'pipe', stderr: 'pipe' });
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
  const ready = Promise.withResolvers<void>();
  // Nobody may be waiting for it when the process is killed.
  ready.promise.catch(() => undefined);
  let writes = 0;
  let lastError = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log.write(chunk);
    lastError = chunk.toString().trim();
  });
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.write(`${line}\n`);
      const message = messageOf(line);
      if (message === 'ready') ready.resolve();
      if (message === 'slices written') writes += 1;
    });
  }
  void child.exited.then((exit) => {
    log.end();
    ready.reject(new DemoError(`\`${shown}\` ${describeExit(exit)}: ${lastError || logFile}`));
  });
  return {
    shown,
    name: `${shown} (pid ${child.pid})`,
    pid: child.pid,
    ready: within(ready.promise, LIMIT_MS, `\`${shown}\` was not ready, see ${logFile}`),
    writes: () => writes,
    kill: async () => void (await child.stop(0)),
    stop: async () => void (await child.stop()),
  };
}

function messageOf(line: string): unknown {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null && 'msg' in parsed
      ? parsed.msg
      : undefined;
  } catch {
    return undefined;
  }
}

function describeExit({ code, signal }: ChildExit): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}
