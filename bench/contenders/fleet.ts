import { join } from 'node:path';
import { startPrivateRedis } from '../../platform/redis/private-server.ts';
import type { Place, RunningContender } from './contender.ts';
import { startMeasured, type MeasuredProcess } from './process.ts';
import { scrape, TETHER } from './tether.ts';

/** How many processes of each role. */
export interface FleetShape {
  readonly watchers: number;
  readonly workers: number;
  readonly workerArgs?: readonly string[];
  /** Look-up servers, each at one of these ports. Default none. */
  readonly lookupPorts?: readonly number[];
}

/** Watchers and workers of Tether, each a process, on a Redis that was started for them. */
export interface RunningFleet extends RunningContender {
  readonly watchers: readonly MeasuredProcess[];
  readonly workers: readonly MeasuredProcess[];
  readonly lookups: readonly MeasuredProcess[];
}

/** Starts all roles at once. CPU and memory are told apart by role, and as `Redis`. */
export async function startFleet(place: Place, shape: FleetShape): Promise<RunningFleet> {
  const redis = await startPrivateRedis();
  place.usage.track('Redis', redis.pid);
  const start =
    (role: 'watcher' | 'worker' | 'lookup', args: readonly string[]) =>
    (_: unknown, nth: number) => {
      const child = startMeasured(TETHER, [role, ...args], {
        cwd: place.dir,
        logFile: join(place.dir, `${role}-${nth}.log`),
        env: { ...place.tetherEnv, TETHER_REDIS_URL: redis.url },
      });
      place.usage.track(role, child.pid);
      return child;
    };
  const watchers = Array.from({ length: shape.watchers }, start('watcher', []));
  const workers = Array.from({ length: shape.workers }, start('worker', shape.workerArgs ?? []));
  const lookups = (shape.lookupPorts ?? []).map((port, nth) =>
    start('lookup', ['--lookup-addr', `127.0.0.1:${port}`])(port, nth),
  );
  const all = [...watchers, ...workers, ...lookups];
  const [first] = all;
  return {
    watchers,
    workers,
    lookups,
    startedAt: first?.startedAt ?? 0,
    startedAtWall: first?.startedAtWall ?? 0,
    metrics: async () => {
      const texts = await Promise.all(all.filter(({ ended }) => !ended()).map(scrape));
      return texts.join('\n');
    },
    redisUrl: () => redis.url,
    log: () => all.map((child) => child.log()).join('\n'),
    failed: Promise.race(all.map(({ failed }) => failed)),
    stop: async () => {
      await Promise.all(all.map((child) => child.stop()));
      await redis.stop();
    },
  };
}
