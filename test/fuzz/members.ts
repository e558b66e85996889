import { closeSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { freePort } from '../../platform/process/free-port.ts';
import { spawnTied, type ChildExit, type TiedChild } from '../../platform/process/tied-child.ts';
import type { MemberName } from './schedule/steps.ts';

const BIN = join(import.meta.dirname, '../../cli/bin.js');
/** A process that was asked to end ends within its own limit (10 s), and some. */
const STOP_LIMIT_MS = 20_000;

export interface MemberOptions {
  readonly name: MemberName;
  /** Everything after `tether watcher` or `tether worker`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where its log goes. */
  readonly dir: string;
  /** Told when it ends without being asked to, or not as it should. */
  readonly onFailure: (error: Error) => void;
}

/** One of the tethers: a role and a log that outlive the processes which play it. */
export class Member {
  readonly name: MemberName;
  readonly log: string;
  readonly #options: MemberOptions;
  #child: TiedChild | undefined;
  #port = 0;
  #starts = 0;
  #mayEnd = false;
  #readTo = 0;
  /** Where the log of the present process begins. */
  #begin = 0;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.name = options.name;
    this.log = join(options.dir, `${options.name}.log`);
  }

  /** Told apart from its predecessors. */
  get identity(): string {
    return `${this.name} (start ${this.#starts}, pid ${this.#child?.pid})`;
  }

  async start(): Promise<void> {
    const { name, args, env, onFailure } = this.#options;
    this.#port = await freePort();
    const role = name.split('-')[0] ?? '';
    const log = openSync(this.log, 'a');
    this.#begin = fstatSync(log).size;
    const own = ['--http-port', String(this.#port), '--log-level', 'debug', '--log-format', 'json'];
    const child = spawnTied(process.execPath, [BIN, role, ...args, ...own], {
      env: { ...process.env, ...env },
      stdout: log,
      stderr: log,
    });
    closeSync(log);
    this.#child = child;
    this.#starts += 1;
    this.#mayEnd = false;
    void child.exited.then((exit) => {
      if (this.#child === child && !this.#mayEnd) onFailure(endError(name, exit));
    });
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.#mayEnd = true;
    await this.#child?.stop(0);
  }

  /** SIGTERM; it has to end by itself, and with 0. */
  async stop(): Promise<void> {
    this.#mayEnd = true;
    // Interrupted while it starts, it ends as any command does.
    const codes = this.#read(this.#begin).includes('"msg":"ready"') ? [0] : [0, 143, null];
    const exit = await this.#child?.stop(STOP_LIMIT_MS);
    if (exit !== undefined && (exit.signal === 'SIGKILL' || !codes.includes(exit.code))) {
      this.#options.onFailure(endError(`${this.name}, asked to stop,`, exit));
    }
  }

  pause(): void {
    this.#child?.signal('SIGSTOP');
  }

  resume(): void {
    this.#child?.signal('SIGCONT');
  }

  /** What `/readyz` says of it; null once it is ready. */
  notReady(): Promise<string | null> {
    return new Promise((resolve) => {
      const url = `http://127.0.0.1:${this.#port}/readyz`;
      const asked = get(url, { agent: false, timeout: 2_000 }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => (text += part));
        response.on('end', () =>
          resolve(response.statusCode === 200 ? null : `${this.name} is not ready: ${text}`),
        );
      });
      asked.on('timeout', () => asked.destroy());
      asked.on('error', (error) => resolve(`${this.name} does not answer: ${error.message}`));
    });
  }

  /** The end of its log. */
  tail(lines: number): string {
    return this.#read(Math.max(0, statSync(this.log).size - 64 * 1024))
      .split('\n')
      .slice(-lines)
      .join('\n');
  }

  /** The lines that it has logged since the last call. */
  takeLog(): string[] {
    const text = this.#read(this.#readTo);
    // The last line may not be whole yet.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1);
    this.#readTo += Buffer.byteLength(lines);
    return lines.split('\n');
  }

  #read(from: number): string {
    return readFileSync(this.log).subarray(from).toString();
  }
}

function endError(who: string, { code, signal }: ChildExit): Error {
  return new Error(`${who} ended with ${signal ?? code}`);
}
