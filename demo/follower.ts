import { createInterface } from 'node:readline';
import { spawnTied } from '../platform/process/tied-child.ts';
import type { Command } from './command.ts';
import { LIMIT_MS } from './demo-error.ts';
import { within } from './within.ts';

/** A command that goes on, and prints a line whenever something happens. */
export interface Follower {
  /**
   * The lines that it printed since the last call, once one of them matches.
   *
   * @throws {DemoError} with what it printed instead, when none does in time.
   */
  until(pattern: RegExp): Promise<readonly string[]>;
  /** Resolves once it has ended by itself. */
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a command that goes on until it is stopped. */
export function startFollower(command: Command): Follower {
  const { program, args, env, cwd, shown } = command;
  const child = spawnTied(program, args, { env, cwd, stdout: 'pipe', stderr: 'pipe' });
  let lines: string[] = [];
  let look = (): void => undefined;
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      look();
    });
  }
  return {
    until: async (pattern) => {
      const came = Promise.withResolvers<void>();
      look = () => {
        if (lines.some((line) => pattern.test(line))) came.resolve();
      };
      look();
      const otherwise = (): string =>
        `\`${shown}\` has not said what was expected, but: ${lines.join(' | ') || 'nothing'}`;
      await within(came.promise, LIMIT_MS, otherwise);
      const seen = lines;
      lines = [];
      return seen;
    },
    ended: child.exited,
    stop: async () => void (await child.stop()),
  };
}
