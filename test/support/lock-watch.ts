import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';
import { primariesOf } from '../../platform/redis/client.ts';
import { loadScript } from '../../platform/redis/scripts.ts';
import { eventually } from './eventually.ts';
import { openRedis } from './redis.ts';

/** What the locks of an install's keys went through. */
export interface LockReport {
  /** Runs that held a lock and gave it back. */
  readonly runs: number;
  /** Runs that began while another one of the key held its lock; as text, for people. */
  readonly overlaps: readonly string[];
}

/** Sees every command that takes, renews or gives back a lock, in the order in which Redis ran them. */
export interface LockWatch {
  /** Of all that was done before this call. */
  report(): Promise<LockReport>;
  end(): Promise<void>;
}

/** A run that asked for a lock. Times are Redis', in ms. */
interface Run {
  readonly key: string;
  readonly from: number;
  readonly ttl: number;
  /** The lock is certain to be held until then, unless it is given back before. */
  until: number;
  /** When it gave the lock back: whoever was denied never does. */
  finished: number | null;
}

const COMMANDS = new Map(
  (['acquire-and-read', 'renew-lock', 'finish'] as const).map((name) => [
    loadScript(name).sha,
    name,
  ]),
);
/** Keys expire by whole milliseconds. */
const PRECISION_MS = 2;

/** Watches the locks of an install by MONITOR, from now on. */
export async function watchLocks(prefix: string): Promise<LockWatch> {
  const client = openRedis();
  await client.ping();
  const primaries = primariesOf(client);
  // Those of a Cluster connect when they are needed.
  await Promise.all(primaries.map((primary) => primary.ping()));
  const runs = new Map<string, Run>();
  const echoes = new Set<string>();
  const hear = (time: number, args: readonly string[]): void => {
    if (args[0]?.toLowerCase() === 'echo') echoes.add(args[1] ?? '');
    else note(runs, prefix, time, args);
  };
  const monitors = await Promise.all(primaries.map((primary) => monitor(primary, hear)));
  return {
    report: async () => {
      await Promise.all(primaries.map((primary) => caughtUp(primary, echoes)));
      return reportOf([...runs.values()]);
    },
    end: async () => {
      for (const socket of monitors) socket.destroy();
      client.disconnect();
    },
  };
}

/** How many arguments of a command are of interest. */
const ARGUMENTS = 6;

/**
 * Hears of every command, by a connection of its own, to where that client is connected: the options of one
 * that asked Sentinels do not say. Not by ioredis: it takes what comes in one piece with the answer to
 * MONITOR for answers to nothing.
 *
 * @param hear is given the time, ms, and the first arguments.
 */
function monitor(
  { options, stream }: Redis,
  hear: (time: number, args: readonly string[]) => void,
): Promise<Socket> {
  const { username, password } = options;
  const socket = connect(stream.remotePort ?? 0, stream.remoteAddress);
  // ioredis has null for what was not given.
  const auth = password ? `AUTH ${username ?? 'default'} ${password}\r\n` : '';
  socket.write(`${auth}MONITOR\r\n`);
  const lines = createInterface({ input: socket });
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    let answers = auth === '' ? 1 : 2;
    lines.on('line', (line) => {
      const [, time] = /^\+(\d+\.\d+) \[/.exec(line) ?? [];
      if (time !== undefined) hear(Number(time) * 1_000, argumentsOf(line));
      else if (line !== '+OK') reject(new Error(`MONITOR: ${line}`));
      else if ((answers -= 1) === 0) resolve(socket);
    });
  });
}

function argumentsOf(line: string): string[] {
  const found: string[] = [];
  for (const [, text = ''] of line.matchAll(/"((?:[^"\\]|\\.)*)"/g)) {
    found.push(text);
    if (found.length === ARGUMENTS) break;
  }
  return found;
}

async function caughtUp(primary: Redis, echoes: ReadonlySet<string>): Promise<void> {
  const mark = randomUUID();
  await primary.echo(mark);
  await eventually(() => {
    if (!echoes.has(mark)) throw new Error('MONITOR is behind');
  });
}

function note(runs: Map<string, Run>, prefix: string, time: number, args: readonly string[]): void {
  const at = (index: number): string => args[index] ?? '';
  const [key, token] = [at(3), at(4)];
  const name = at(0).toLowerCase() === 'evalsha' ? COMMANDS.get(at(1)) : undefined;
  if (name === undefined || !key.startsWith(`{${prefix}`)) return;
  if (name === 'acquire-and-read') {
    const ms = Number(at(5));
    runs.set(token, { key, from: time, ttl: ms, until: time + ms, finished: null });
    return;
  }
  const run = runs.get(token);
  if (run === undefined) return;
  // A renewal that comes too late renews nothing.
  if (name === 'renew-lock' && time <= run.until) run.until = time + run.ttl;
  if (name === 'finish') run.finished = time;
}

function reportOf(all: readonly Run[]): LockReport {
  const held = all.filter(({ finished }) => finished !== null).toSorted((a, b) => a.from - b.from);
  const last = new Map<string, number>();
  const overlaps: string[] = [];
  for (const { key, from, until, finished } of held) {
    const before = last.get(key) ?? -Infinity;
    if (from < before - PRECISION_MS) overlaps.push(`${key}: ${Math.round(before - from)} ms`);
    last.set(key, Math.max(before, Math.min(until, finished ?? until)));
  }
  return { runs: held.length, overlaps };
}
