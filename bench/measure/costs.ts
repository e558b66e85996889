import type { Stage } from '../stage.ts';
import type { RunningContender } from '../contenders/contender.ts';
import { difference, sumBy, total, type Counters } from './prometheus.ts';
import { readRedis, scriptCalls, type RedisReading } from './redis-stats.ts';

/** What something took, between two moments. */
export interface Costs {
  /** CPU seconds by process. */
  readonly cpu: ReadonlyMap<string, number>;
  readonly memory: ReadonlyMap<string, { readonly nowMiB: number; readonly peakMiB: number }>;
  /**
   * Requests that the API server answered, such as `POST endpointslices`: those of the controller, as
   * those by which the benchmark flips readiness and the long ones of watches are left out.
   */
  readonly apiRequests: Counters;
  /** Runs of the reconcile function; undefined where the controller does not tell. */
  readonly reconciles: number | undefined;
  /** Requests by Tether's own count: `get services 200`. */
  readonly ownRequests: Counters;
  readonly redis: RedisCosts | undefined;
}

/** What a Redis did meanwhile. */
export interface RedisCosts {
  readonly calls: Counters;
  readonly scripts: number;
  readonly reads: number;
  readonly usedMemoryMiB: number;
}

interface Reading {
  readonly api: Counters;
  readonly metrics: string;
  readonly redis: RedisReading | undefined;
}

const RESOURCES = /^(endpointslices|services|externalworkloads|pods|events)$/;
const LONG = /^(WATCH|CONNECT)$/;
const NOTHING: Reading = { api: new Map(), metrics: '', redis: undefined };

/**
 * Begins to count; what it gives ends the counting. `running` is left out where the controller is yet
 * to be started: then all that it does counts.
 */
export async function beginCosts(
  stage: Stage,
  running?: RunningContender,
): Promise<(running: RunningContender) => Promise<Costs>> {
  const before = await read(stage, running);
  const mark = stage.usage.mark();
  return async (ran) => {
    // The reading itself costs the API server CPU time: after the mark.
    const cpu = stage.usage.cpuSince(mark);
    const memory = stage.usage.memory();
    const after = await read(stage, ran);
    const moved = (metric: string, labels: readonly string[]): Counters =>
      difference(sumBy(before.metrics, metric, labels), sumBy(after.metrics, metric, labels));
    return {
      cpu,
      memory,
      apiRequests: difference(before.api, after.api),
      reconciles:
        after.metrics === '' ? undefined : total(moved('tether_reconciles_total', ['outcome'])),
      ownRequests: moved('tether_api_requests_total', ['verb', 'resource', 'code']),
      redis: redisCosts(before.redis, after.redis),
    };
  };
}

async function read(stage: Stage, running: RunningContender | undefined): Promise<Reading> {
  const api = sumBy(
    await stage.agent.read('/metrics'),
    'apiserver_request_total',
    ['verb', 'resource'],
    (label) =>
      RESOURCES.test(label('resource')) &&
      !LONG.test(label('verb')) &&
      label('subresource') !== 'status',
  );
  if (running === undefined) return { ...NOTHING, api };
  const url = running.redisUrl();
  const redis = url === undefined ? undefined : await readRedis(url);
  return { api, metrics: (await running.metrics()) ?? '', redis };
}

function redisCosts(
  before: RedisReading | undefined,
  after: RedisReading | undefined,
): RedisCosts | undefined {
  if (after === undefined) return undefined;
  const calls = difference(before?.calls ?? new Map(), after.calls);
  return {
    calls,
    scripts: scriptCalls(calls),
    reads: after.reads - (before?.reads ?? 0),
    usedMemoryMiB: after.usedMemoryMiB,
  };
}
