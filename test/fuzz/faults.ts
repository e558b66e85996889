import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Fault } from './schedule/steps.ts';
import type { Stage } from './stage.ts';

/** Ends a fault. */
type Mend = () => Promise<void> | void;

/** Makes a fault happen, and gives what ends it. */
export async function inflict(stage: Stage, fault: Fault): Promise<Mend> {
  if ('member' in fault) return inflictOnMember(stage, fault);
  if (isRedisFault(fault)) return inflictOnRedis(stage, fault.fault);
  if (isApiServerFault(fault)) return inflictOnApiServer(stage, fault.fault);
  return inflictOnWays(stage, fault);
}

type RedisFault = Extract<Fault, { readonly fault: `redis ${string}` }>;
type ApiServerFault = Extract<Fault, { readonly fault: `api server ${string}` }>;

function isRedisFault(fault: Fault): fault is RedisFault {
  return fault.fault.startsWith('redis ');
}

function isApiServerFault(fault: Fault): fault is ApiServerFault {
  return fault.fault.startsWith('api server ');
}

async function inflictOnApiServer(
  { cluster, etcd }: Stage,
  fault: ApiServerFault['fault'],
): Promise<Mend> {
  await cluster.killServer();
  if (fault !== 'api server killed') await etcd.compact();
  return () => cluster.restartServer();
}

async function inflictOnMember(
  { members, proxies }: Stage,
  { fault, member: name }: Extract<Fault, { readonly member: unknown }>,
): Promise<Mend> {
  const member = members[name];
  const proxy = proxies[name];
  switch (fault) {
    case 'kill':
      await member.kill();
      return () => member.start();
    case 'stop':
      await member.stop();
      return () => member.start();
    case 'pause':
      member.pause();
      return () => member.resume();
    case 'unreachable':
      proxy.rules.unreachable = true;
      proxy.cutAll();
      return () => void (proxy.rules.unreachable = false);
    case 'silent':
      proxy.rules.silent = true;
      proxy.holdWatches();
      return () => {
        proxy.rules.silent = false;
        proxy.releaseWatches();
      };
    case 'watches held':
      proxy.holdWatches();
      return () => proxy.releaseWatches();
  }
}

async function inflictOnRedis(stage: Stage, fault: RedisFault['fault']): Promise<Mend> {
  const { redis, proxies } = stage;
  const { server } = redis;
  switch (fault) {
    case 'redis killed':
      await server.kill();
      return () => redis.startAgain();
    case 'redis emptied':
      await server.kill();
      for (const file of await readdir(redis.dir)) {
        await rm(join(redis.dir, file), { recursive: true });
      }
      return () => redis.startAgain();
    case 'redis frozen':
      process.kill(server.pid, 'SIGSTOP');
      return () => void process.kill(server.pid, 'SIGCONT');
    case 'redis flushed':
      await command(server.url, (client) => client.flushall());
      return () => undefined;
    case 'redis forgets':
      await command(server.url, forgetWorkloads);
      return () => Object.values(proxies).forEach((way) => way.cutWatches({ gone: true }));
  }
}

async function command(url: string, send: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(url);
  await send(client);
  client.disconnect();
}

/** Every other one of each namespace's view. */
async function forgetWorkloads(client: Redis): Promise<void> {
  const keys = await client.keys('*:workload');
  // The mark that says "in sync" ends alike.
  for (const key of keys.filter((name) => !name.endsWith(':m:workload'))) {
    const names = (await client.hkeys(key)).sort();
    await client.hdel(key, ...names.filter((_, nth) => nth % 2 === 0));
  }
}

type WayFault = Exclude<Fault, { readonly member: unknown } | RedisFault | ApiServerFault>;

/** On every way between a member and the API server. */
function inflictOnWays({ proxies }: Stage, fault: WayFault): Mend {
  const ways = Object.values(proxies);
  const each = (change: (way: (typeof ways)[number]) => void): void => ways.forEach(change);
  switch (fault.fault) {
    case 'watches cut':
      each((way) => way.cutWatches());
      return () => undefined;
    case 'watches gone':
      each((way) => way.cutWatches({ gone: true }));
      return () => undefined;
    case 'refused':
      each(({ rules }) => (rules.refuse = fault));
      return () => each(({ rules }) => (rules.refuse = null));
    case 'answers lost':
      each(({ rules }) => (rules.loseAnswers = fault.share));
      return () => each(({ rules }) => (rules.loseAnswers = 0));
    case 'slow':
      each(({ rules }) => (rules.slowMs = fault.ms));
      return () => each(({ rules }) => (rules.slowMs = 0));
  }
}
