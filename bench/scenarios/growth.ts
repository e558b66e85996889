import { setTimeout as delay } from 'node:timers/promises';
import type { ChurnPlan } from '../agent/churn.ts';
import type { RunningContender } from '../contenders/contender.ts';
import { startFleet } from '../contenders/fleet.ts';
import { beginCosts, type Costs } from '../measure/costs.ts';
import { total } from '../measure/prometheus.ts';
import type { UsageMeter } from '../measure/usage.ts';
import { withRunning, type Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { percentile } from '../statistics.ts';
import type { World } from '../world.ts';
import { prepare } from './worlds.ts';
import { resyncOnce } from './resync.ts';

/** One size of everything. */
export interface GrowthCase {
  /** What is varied against the first case of its group. */
  readonly group: string;
  readonly services: number;
  readonly per: number;
  readonly namespaces: number;
  readonly watchers: number;
  readonly workers: number;
  /** Flips of readiness a second, while their cost is measured. */
  readonly perSecond: number;
}

/** What a case came to. */
export interface GrowthResult extends GrowthCase {
  readonly loadSeconds: number;
  readonly listMiB: number;
  /** From the start of all processes until every slice was right. */
  readonly convergeSeconds: number;
  /** Of one process of each role, the largest, once all is right. */
  readonly watcherMiB: number;
  readonly workerMiB: number;
  readonly redisMiB: number;
  readonly redisUsedMiB: number;
  /** CPU milliseconds a second while nothing changes. */
  readonly idle: CpuShares;
  readonly resyncSeconds: number;
  /** CPU milliseconds of the whole resync. */
  readonly resync: CpuShares;
  readonly resyncRequests: number;
  /** CPU milliseconds of one flip, what goes on anyway included. */
  readonly flip: CpuShares;
  readonly flipCommands: number;
  readonly p50: number;
  readonly p99: number;
}

/** CPU milliseconds, all processes of a role together. */
export interface CpuShares {
  readonly watcher: number;
  readonly worker: number;
  readonly redis: number;
}

/** Sizes; undefined: the usual ones. */
export interface GrowthSizes {
  readonly services: readonly number[] | undefined;
  readonly per: number | undefined;
  readonly quick: boolean;
}

const FLIP_SECONDS = 10;
const QUICK_FLIP_SECONDS = 0.5;
/** The group that varies how much happens. */
export const CHURN = 'flips a second';
const IDLE_MS = 6_000;
const QUICK_IDLE_MS = 200;
const BYTES_PER_MIB = 1024 * 1024;
/** An option of Tether takes workloads without a status as ready, which halves the loading. */
const WORKER_ARGS = ['--workloads-without-status', 'ready'];

const LISTED = [
  '/api/v1/services',
  '/apis/workload.linkerd.io/v1beta1/externalworkloads',
  '/apis/discovery.k8s.io/v1/endpointslices',
];

/** All cases, one after another, each once on a control plane of its own. */
export async function growth(sitting: Sitting, sizes: GrowthSizes): Promise<GrowthResult[]> {
  const cases = casesFor(sizes);
  const results: GrowthResult[] = [];
  for (const [at, one] of cases.entries()) {
    const { group, services, per, namespaces, watchers, workers } = one;
    sitting.say(
      `growth ${at + 1} of ${cases.length}, ${group}: ${services} Services × ${per} in ${namespaces} ` +
        `namespaces, ${watchers} watchers, ${workers} workers`,
    );
    results.push(await sitting.stages.on((stage) => measure(sitting, stage, one, sizes.quick)));
  }
  return results;
}

/** What is to be measured; each group varies one thing. */
export function casesFor({ services, per, quick }: GrowthSizes): GrowthCase[] {
  const base = { group: 'size', namespaces: 10, watchers: 1, workers: 1, perSecond: 20 };
  if (quick) {
    return [{ ...base, services: 20, per: 2, namespaces: 2 }];
  }
  const usual = { ...base, services: 1000, per: per ?? 5 };
  const sizes = (services ?? [1000, 5000, 20_000]).map((count) => ({ ...usual, services: count }));
  // Who names sizes wants these alone.
  if (services !== undefined) return sizes;
  return [
    ...sizes,
    ...[10, 100, 1000, 5000].map((many) => ({
      ...usual,
      group: 'workloads of one Service',
      services: 1,
      per: many,
      namespaces: 1,
    })),
    ...[1, 100, 1000].map((namespaces) => ({ ...usual, group: 'namespaces', namespaces })),
    ...[10, 50, 200, 400].map((perSecond) => ({ ...usual, group: CHURN, perSecond })),
    ...[1, 2, 3].map((watchers) => ({ ...usual, group: 'watchers', watchers })),
    ...[1, 2, 4].map((workers) => ({ ...usual, group: 'workers', workers })),
  ];
}

async function measure(
  sitting: Sitting,
  stage: Stage,
  one: GrowthCase,
  quick: boolean,
): Promise<GrowthResult> {
  const { services, per, namespaces } = one;
  const { prefix, agent, usage } = stage;
  const shape = { prefix, services, per, namespaces };
  const world: World = { ...shape, backing: 'workloads', withStatus: false };
  const { seconds: loadSeconds } = await prepare(sitting, stage, world);
  const { timeoutMs, settleMs } = sitting.sizes;
  const fleet = await startFleet(stage, { ...one, workerArgs: WORKER_ARGS });
  return withRunning(fleet, async () => {
    const { rightAt } = await agent.untilRight(timeoutMs);
    const convergeSeconds = (rightAt - fleet.startedAt) / 1000;
    sitting.say(`  right after ${convergeSeconds.toFixed(1)} s`);
    await delay(settleMs);
    const memory = memoryOf(usage);
    const idle = await idleCpu(usage, quick ? QUICK_IDLE_MS : IDLE_MS);
    const resync = await measureResync(stage, fleet, services, timeoutMs);
    const flips = await measureFlips(stage, fleet, {
      perSecond: one.perSecond,
      seconds: quick ? QUICK_FLIP_SECONDS : FLIP_SECONDS,
      timeoutMs,
    });
    const listMiB = (await agent.listBytes(LISTED)) / BYTES_PER_MIB;
    return { ...one, loadSeconds, listMiB, convergeSeconds, ...memory, idle, ...resync, ...flips };
  });
}

async function measureResync(
  stage: Stage,
  fleet: RunningContender,
  services: number,
  timeoutMs: number,
) {
  const endCosts = await beginCosts(stage, fleet);
  const resyncSeconds = await resyncOnce(stage, fleet, services, timeoutMs);
  const { cpu, apiRequests, redis } = await endCosts(fleet);
  return {
    resyncSeconds,
    resync: cpuShares(cpu, 1),
    resyncRequests: total(apiRequests),
    redisUsedMiB: redis?.usedMemoryMiB ?? NaN,
  };
}

async function measureFlips(stage: Stage, fleet: RunningContender, plan: ChurnPlan) {
  const endCosts = await beginCosts(stage, fleet);
  const { flips, latencies, missing, wrong } = await stage.agent.churn(plan);
  const { cpu, redis } = await endCosts(fleet);
  if (missing + wrong > 0) throw new Error('flips were missed: there is no figure to show');
  return {
    flip: cpuShares(cpu, flips),
    flipCommands: redis === undefined ? NaN : total(redis.calls) / flips,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

function memoryOf(usage: UsageMeter) {
  const memory = usage.memory();
  return {
    watcherMiB: memory.get('watcher')?.nowMiB ?? NaN,
    workerMiB: memory.get('worker')?.nowMiB ?? NaN,
    redisMiB: memory.get('Redis')?.nowMiB ?? NaN,
  };
}

async function idleCpu(usage: UsageMeter, ms: number): Promise<CpuShares> {
  const mark = usage.mark();
  await delay(ms);
  return cpuShares(usage.cpuSince(mark), ms / 1000);
}

function cpuShares(cpu: Costs['cpu'], by: number): CpuShares {
  const of = (name: string): number => ((cpu.get(name) ?? 0) * 1000) / by;
  return { watcher: of('watcher'), worker: of('worker'), redis: of('Redis') };
}
