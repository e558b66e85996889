import { describeError, InvalidInputError } from '../../core/errors.ts';
import { isDnsLabel } from '../../core/object-key.ts';
import { NoRedisError, resolveRedisUrl, type Config } from '../../platform/config.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { installKeys } from '../../platform/redis/install-keys.ts';
import { createLogger } from '../../platform/telemetry/logger.ts';
import type { CommandInput, Io } from '../command.ts';
import { CommandError } from '../failures.ts';
import { withKube } from '../roles/clients.ts';
import { plural, textTable } from '../text-table.ts';
import { findLiving } from '../uninstall/living.ts';
import { listOwnSlices, removeSlices, type OwnSlice } from '../uninstall/own-slices.ts';
import { removeJobs } from '../uninstall/queued-jobs.ts';

/** Redis, or why it cannot be asked: a cluster is to be left clean also after its Redis is gone. */
type Memory =
  | { readonly redis: RedisClient }
  | { readonly redis: null; readonly why: string; readonly configured: boolean };

/** It may be gone for good: nobody wants to wait long for that. */
const REDIS_WAIT_MS = 2_000;

interface Job {
  readonly config: Config;
  readonly client: KubeClient;
  readonly memory: Memory;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  /** Goes on whoever may still write. */
  readonly force: boolean;
  readonly io: Io;
}

/**
 * `tether uninstall`: removes the EndpointSlices that Tether wrote, and what it keeps in Redis; of one
 * namespace with `--namespace`. Without `--purge` it only says what there is. Nothing of anybody else's
 * is touched: no CRD, no ExternalWorkload, no Secret.
 */
export function run({ config, flags }: CommandInput, io: Io): Promise<number> {
  const namespace = namespaceOf(flags['namespace']);
  return withKube(config, (client) =>
    withMemory(config, async (memory) => {
      const force = flags['force'] === true;
      const job: Job = { config, client, memory, namespace, force, io };
      if (flags['purge'] !== true) return show(job);
      if (!force) await refuseWhileServed(job);
      return purge(job);
    }),
  );
}

function namespaceOf(given: string | boolean | undefined): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'string' && isDnsLabel(given)) return given;
  throw new InvalidInputError(
    'namespace',
    `--namespace ${JSON.stringify(given)}: expected the name of a namespace`,
  );
}

async function withMemory<T>(config: Config, use: (memory: Memory) => Promise<T>): Promise<T> {
  // What the connection has to say is in the command's own words.
  const log = await createLogger({ level: 'silent', format: 'auto', fd: 2, colour: config.colour });
  let redis: RedisClient | null = null;
  let memory: Memory;
  try {
    redis = connectRedis(resolveRedisUrl(config), 'producer', { log });
    await checkRedis(redis, { log, timeoutMs: REDIS_WAIT_MS });
    memory = { redis };
  } catch (error) {
    const configured = !(error instanceof NoRedisError);
    memory = { redis: null, why: describeError(error), configured };
  }
  try {
    return await use(memory);
  } finally {
    redis?.disconnect();
  }
}

async function refuseWhileServed({ config, memory, namespace }: Job): Promise<void> {
  if (memory.redis === null) {
    throw new CommandError(
      `whether watchers and workers are running is not known: ${memory.why}; ` +
        'say --force if none is, and that Redis is gone for good',
    );
  }
  const { text } = await findLiving(memory.redis, config.redisPrefix, namespace);
  if (text === '') return;
  throw new CommandError(
    namespace === undefined
      ? `running: ${text}; they would write again what is removed: stop them first (one that was killed ` +
          'counts for 10 s more), or say --force'
      : `namespace ${namespace} is served by ${text}; it would be filled again: take it out of what they ` +
          'serve first (--namespaces, --exclude-namespaces), or say --force',
  );
}

async function show({ config, client, memory, namespace, io }: Job): Promise<number> {
  const slices = await listOwnSlices(client, config.manager, namespace, io.signal);
  io.out(`EndpointSlices of ${config.manager}: ${slices.length}`);
  if (slices.length > 0) {
    const rows = [...countByNamespace(slices)].map(([name, count]) => [name, String(count)]);
    io.out(textTable(['NAMESPACE', 'SLICES'], rows));
  }
  if (memory.redis === null) io.out(`Keys in Redis: not known: ${memory.why}`);
  else {
    const count = await installKeys(memory.redis, config.redisPrefix, namespace).count();
    io.out(`Keys in Redis under the prefix ${config.redisPrefix}: ${count}`);
    const { text } = await findLiving(memory.redis, config.redisPrefix, namespace);
    if (text !== '') io.out(`Still running: ${text}; to be stopped first`);
  }
  const option = namespace === undefined ? '' : ` --namespace ${namespace}`;
  io.out(`Nothing was removed. To remove all of this: tether uninstall --purge${option}`);
  return 0;
}

async function purge(job: Job): Promise<number> {
  const { config, client, namespace, io } = job;
  await purgeJobs(job);
  const slices = await listOwnSlices(client, config.manager, namespace, io.signal);
  const { removed, failures } = await removeSlices(client, slices, io.signal);
  const where = plural(countByNamespace(removed).size, 'namespace');
  io.out(`EndpointSlices of ${config.manager}: ${removed.length} removed in ${where}`);
  for (const failure of failures) io.err(`tether: ${failure}`);
  const done = (await purgeKeys(job)) && failures.length === 0;
  return done ? 0 : 1;
}

/**
 * Of one namespace, whose slices workers that go on would write again. (Where all is removed there are no
 * workers, and their queues go with all other keys.)
 */
async function purgeJobs({ config, memory, namespace, force, io }: Job): Promise<void> {
  if (namespace === undefined || memory.redis === null) return;
  const { taken, running } = await removeJobs(
    memory.redis,
    config.redisPrefix,
    namespace,
    io.signal,
  );
  io.out(`Jobs of namespace ${namespace}: ${taken} removed`);
  if (running === 0 || force) return;
  throw new CommandError(
    `${plural(running, 'run')} of namespace ${namespace} did not end in time and may still write: no slice ` +
      'was removed; run this again, or say --force',
  );
}

/** False when there is a Redis, and it still has them. */
async function purgeKeys({ config, memory, namespace, io }: Job): Promise<boolean> {
  if (memory.redis === null) {
    if (!memory.configured) io.out('Keys in Redis: none removed, as no Redis is configured');
    else io.err(`tether: keys in Redis were not removed: ${memory.why}`);
    return !memory.configured;
  }
  try {
    const removed = await installKeys(memory.redis, config.redisPrefix, namespace).remove();
    io.out(`Keys in Redis under the prefix ${config.redisPrefix}: ${removed} removed`);
    return true;
  } catch (error) {
    io.err(`tether: keys in Redis were not all removed: ${describeError(error)}`);
    return false;
  }
}

function countByNamespace(slices: readonly OwnSlice[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { namespace } of slices.toSorted((a, b) => (a.namespace < b.namespace ? -1 : 1))) {
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return counts;
}
