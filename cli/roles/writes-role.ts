import { watchWrites } from '../../platform/redis/write-watch.ts';
import type { Role, Runtime } from './runtime.ts';

/** Not a role of its own: what every process with a Runtime wants to know, and shows in /readyz. */
export function startWritesRole({ redis, config, id, log }: Runtime): Role {
  const watch = watchWrites({ redis, prefix: config.redisPrefix, id, log });
  const check = () => ({ ok: watch.refusal === null, detail: watch.refusal ?? 'are taken' });
  return {
    ready: Promise.resolve(),
    liveness: [],
    readiness: [{ name: 'redis-writes', check }],
    stop: () => watch.stop(),
  };
}
