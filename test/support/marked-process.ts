import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { spawnTied, type ChildExit } from '../../platform/process/tied-child.ts';
import { processesWith } from './child-processes.ts';
import { eventually } from './eventually.ts';

/** How a program of the project ended. */
export interface MarkedEnd extends ChildExit {
  readonly stdout: string;
  readonly stderr: string;
  /** Processes that it has started, near or far, and that still run. */
  readonly left: readonly string[];
}

export interface MarkedProcess {
  /** All that it has written there so far. */
  stderr(): string;
  /** SIGTERM, and SIGKILL after `graceMs`. */
  stop(graceMs: number): Promise<ChildExit>;
  readonly ended: Promise<MarkedEnd>;
}

/** Starts a program with Node and a mark in its environment, by which its descendants are found. */
export function startMarked(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): MarkedProcess {
  const [name, value] = ['TETHER_TEST_MARK', randomUUID()] as const;
  const child = spawnTied(process.execPath, [program, ...args], {
    env: { ...process.env, ...env, [name]: value },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const look = (): string[] => processesWith(`${name}=${value}`).map(({ command }) => command);
  const end = async (): Promise<MarkedEnd> => {
    const exit = await child.exited;
    // What guards a process against the death of its parent ends a moment after both.
    await eventually(() => expect(look()).toEqual([]), { timeoutMs: 5_000 }).catch(() => undefined);
    return { ...exit, stdout, stderr, left: look() };
  };
  return { stderr: () => stderr, stop: (graceMs) => child.stop(graceMs), ended: end() };
}
