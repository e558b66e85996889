import type { RedisAddress } from '../../platform/redis/address.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { Lookup } from '../../lookup/lookup.ts';
import { openapiText } from '../../lookup/openapi.ts';
import { startLookupServer, type LookupServer } from '../../lookup/server.ts';
import { createGate, type Gate } from '../../platform/http/bearer-gate.ts';
import { flagCheck, freshnessCheck } from '../../platform/telemetry/health.ts';
import { isLoopback } from './loopback.ts';
import type { Role, Serving } from './serve.ts';
import type { RunningTrigger } from './trigger.ts';

/** What look-ups stand on: a Redis, and no API server. */
export interface LookupRuntime extends Serving {
  readonly redisUrl: RedisAddress;
  readonly redis: RedisClient;
}

const TICK_MS = 1_000;
/** An event loop that was not back for so long hangs, ms. */
const SILENCE_MS = 30_000;

/** Answers look-ups from what Redis holds. Any number may run. */
export async function startLookupRole(runtime: LookupRuntime): Promise<Role> {
  const { config, redis, redisUrl, log, metrics } = runtime;
  const { lookupToken: token, lookupTokenFile: tokenFile } = config;
  const gate = createGate({ flag: 'lookup-token', token, tokenFile }, log);
  const trigger = await triggerOf(runtime);
  const prefix = config.redisPrefix;
  const lookup = new Lookup({ redis, redisUrl, prefix, log, metrics: metrics.lookup });
  metrics.lookup.stateFrom(() => lookup.state());
  const server = await listen(runtime, { gate, lookup, trigger }).catch(async (error: unknown) => {
    lookup.close();
    await trigger?.stop();
    throw error;
  });
  let tickedAt = performance.now();
  const timer = setInterval(() => {
    tickedAt = performance.now();
    gate.tick();
    trigger?.tick();
  }, TICK_MS);
  const known = (): boolean => lookup.world.directory.known;
  const ageMs = (): number => performance.now() - tickedAt;
  return {
    ready: lookup.start(),
    liveness: [freshnessCheck({ name: 'lookup', ageMs, limitMs: SILENCE_MS })],
    readiness: [flagCheck('clusters', known, 'known', 'Redis has not told of the clusters yet')],
    stop: async () => {
      clearInterval(timer);
      lookup.close();
      await trigger?.stop();
      await server.close();
    },
  };
}

/** Only who asked for it pays for loading a queue. */
async function triggerOf(runtime: LookupRuntime): Promise<RunningTrigger | null> {
  const { triggerToken, triggerTokenFile } = runtime.config;
  if (triggerToken === undefined && triggerTokenFile === undefined) return null;
  const { startTrigger } = await import('./trigger.ts');
  return startTrigger(runtime);
}

interface Served {
  readonly gate: Gate;
  readonly lookup: Lookup;
  readonly trigger: RunningTrigger | null;
}

async function listen(
  { config, log, metrics }: LookupRuntime,
  { gate, lookup, trigger: running }: Served,
): Promise<LookupServer> {
  const { host, port } = config.lookupAddr;
  const { answered } = metrics.lookup;
  const answers = {
    answer: lookup.answer.bind(lookup),
    watch: lookup.watch.bind(lookup),
    openapi: openapiText,
  };
  const trigger = running?.handle ?? null;
  const server = await startLookupServer({ host, port, gate, answers, trigger, log, answered });
  if (!gate.guarded && !isLoopback(host)) {
    log.warn({ host }, 'anybody who reaches this port may look up: set --lookup-token-file');
  }
  return server;
}
