import type { Redis } from 'ioredis';
import { createGate, type Gate } from '../../lookup/auth.ts';
import { Lookup } from '../../lookup/lookup.ts';
import { openapiText } from '../../lookup/openapi.ts';
import { startLookupServer, type LookupServer } from '../../lookup/server.ts';
import { flagCheck, freshnessCheck } from '../../platform/telemetry/health.ts';
import type { Role, Serving } from './serve.ts';

/** What look-ups stand on: a Redis, and no API server. */
export interface LookupRuntime extends Serving {
  readonly redisUrl: string;
  readonly redis: Redis;
}

const TICK_MS = 1_000;
/** An event loop that was not back for so long hangs, ms. */
const SILENCE_MS = 30_000;

/** Answers look-ups from what Redis holds. Any number may run. */
export async function startLookupRole(runtime: LookupRuntime): Promise<Role> {
  const { config, redis, redisUrl, log, metrics } = runtime;
  const gate = createGate({ token: config.lookupToken, tokenFile: config.lookupTokenFile }, log);
  const prefix = config.redisPrefix;
  const lookup = new Lookup({ redis, redisUrl, prefix, log, metrics: metrics.lookup });
  metrics.lookup.stateFrom(() => lookup.state());
  const server = await listen(runtime, gate, lookup).catch((error: unknown) => {
    lookup.close();
    throw error;
  });
  let tickedAt = performance.now();
  const timer = setInterval(() => {
    tickedAt = performance.now();
    gate.tick();
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
      await server.close();
    },
  };
}

async function listen(
  { config, log, metrics }: LookupRuntime,
  gate: Gate,
  lookup: Lookup,
): Promise<LookupServer> {
  const { host, port } = config.lookupAddr;
  const { answered } = metrics.lookup;
  const answers = {
    answer: lookup.answer.bind(lookup),
    watch: lookup.watch.bind(lookup),
    openapi: openapiText,
  };
  const server = await startLookupServer({ host, port, gate, answers, log, answered });
  if (!gate.guarded && !LOOPBACK.includes(host)) {
    log.warn({ host }, 'anybody who reaches this port may look up: set --lookup-token-file');
  }
  return server;
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];
