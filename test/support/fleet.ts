import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { eventually } from './eventually.ts';
import { spawnTether, type TetherProcess } from './processes.ts';
import { openQueueProbe } from './queue-probe.ts';
import { fromRun } from './run.ts';

type Role = 'watcher' | 'worker';

/** What a process of a fleet may have of its own. */
export interface MemberOptions {
  /** Another way to the API server, such as a proxy. */
  readonly kubeconfig?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of another release. */
  readonly bin?: string;
}

export interface FleetOptions {
  /** Default: the Redis of the test run. */
  readonly redisUrl?: string;
  /** For each worker. */
  readonly workerArgs?: readonly string[];
}

/** Watchers and workers of one install, each a process, on one Redis. */
export interface Fleet {
  /** TETHER_REDIS_PREFIX of its processes. */
  readonly prefix: string;
  /** What is alive, in the order of its start. */
  readonly watchers: readonly TetherProcess[];
  readonly workers: readonly TetherProcess[];
  /** Starts a process, and waits until it is ready. */
  start(role: Role, options?: MemberOptions): Promise<TetherProcess>;
  /** Takes a process out of the fleet by SIGKILL. */
  kill(member: TetherProcess): Promise<void>;
  /** Takes every process out of the fleet by SIGKILL. */
  killAll(): Promise<void>;
  /** Takes a process out of the fleet by SIGTERM, and waits for its end. */
  stop(member: TetherProcess): Promise<void>;
  /** Sum of a counter over all living processes; `labels` as in the text format: `outcome="done"`. */
  count(metric: string, labels?: string): Promise<number>;
  /** Waits until nothing is in the queue or under way; fails when a key is stuck. */
  untilQuiet(timeoutMs?: number): Promise<void>;
}

/**
 * Opens a fleet that serves one namespace, under a Redis prefix of its own. Its processes end with
 * the test file.
 */
export function openFleet(namespace: string, options: FleetOptions = {}): Fleet {
  const { redisUrl = fromRun('redisUrl'), workerArgs = [] } = options;
  const prefix = `fleet-${randomUUID().slice(0, 8)}`;
  const common = ['--redis-prefix', prefix];
  const env = { TETHER_REDIS_URL: redisUrl };
  const members: Record<Role, TetherProcess[]> = { watcher: [], worker: [] };
  const forget = (member: TetherProcess): void => {
    for (const list of Object.values(members)) {
      if (list.includes(member)) list.splice(list.indexOf(member), 1);
    }
  };
  const all = (): TetherProcess[] => [...members.watcher, ...members.worker];
  const kill = async (member: TetherProcess): Promise<void> => {
    forget(member);
    await member.kill();
  };
  return {
    prefix,
    watchers: members.watcher,
    workers: members.worker,
    start: async (role, { kubeconfig, args = [], env: own = {}, bin } = {}) => {
      const way = kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig];
      const only = role === 'watcher' ? ['--namespaces', namespace] : workerArgs;
      const command = [role, ...common, ...LOG, ...only, ...way, ...args];
      const member = spawnTether(command, {
        env: { ...env, ...own },
        lifetime: 'file',
        ...(bin === undefined ? {} : { bin }),
      });
      await Promise.race([
        member.untilLog(/"msg":"ready"/),
        member.exited.then(() => Promise.reject(new Error(`${role}: ${member.stderr()}`))),
      ]);
      members[role].push(member);
      return member;
    },
    kill,
    killAll: async () => {
      for (const member of [...members.worker, ...members.watcher]) await kill(member);
    },
    stop: async (member) => {
      forget(member);
      expect(await member.stop()).toEqual({ code: 0, signal: null });
    },
    count: async (metric, labels = '') => {
      const counts = await Promise.all(all().map((member) => scrape(member, metric, labels)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    untilQuiet: (timeoutMs = 30_000) => untilQuiet(redisUrl, prefix, timeoutMs),
  };
}

const LOG = ['--log-level', 'debug', '--log-format', 'json'];

/** Two watchers and two workers, started side by side. */
export async function startPair(fleet: Fleet, options: MemberOptions = {}): Promise<void> {
  const roles = ['watcher', 'watcher', 'worker', 'worker'] as const;
  await Promise.all(roles.map((role) => fleet.start(role, options)));
}

async function untilQuiet(redisUrl: string, prefix: string, timeoutMs: number): Promise<void> {
  const queue = await openQueueProbe(redisUrl, prefix);
  try {
    await eventually(async () => expect(await queue.busy()).toEqual({}), { timeoutMs });
  } finally {
    await queue.close();
  }
}

async function scrape(member: TetherProcess, metric: string, labels: string): Promise<number> {
  const [, url] = await member.untilLog(/"url":"(http:[^"]+)"/);
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  const lines = text.split('\n').filter((line) => {
    const [, name, found = ''] = /^([a-z_]+)(?:\{(.*)\})? /.exec(line) ?? [];
    return name === metric && found.includes(labels);
  });
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
