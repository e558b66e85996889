import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { ChurnResult } from '../agent/churn.ts';
import { monotonicMs } from '../clock.ts';
import { startFleet, type RunningFleet } from '../contenders/fleet.ts';
import { difference, sumBy, type Counters } from '../measure/prometheus.ts';
import type { Bar, Column, Figures, Row, Section } from '../report/section.ts';
import { withRunning, type Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { percentile } from '../statistics.ts';
import { openWay } from '../way/way.ts';
import { atMost } from './bars.ts';
import { prepare, sizeText, worldOf } from './worlds.ts';

/** Two of each role, as they are run. */
const FLEET = { watchers: 2, workers: 2 };
/** Changes go on for so long before the way is cut, or Redis is emptied, seconds. */
const LEAD_S = 1;
/** What is changed right after a server is back that nobody could change while it was away. */
const BURST = { perSecond: 200, seconds: 0.5 };
const KINDS = ['services', 'externalworkloads', 'endpointslices'] as const;

interface Case {
  readonly title: (seconds: number) => string;
  readonly measure: (sitting: Sitting, stage: Stage) => Promise<Figures>;
  /** Right again within, ms. */
  readonly longest: number;
  /** Lists of one kind, of all processes together; undefined: Redis has lost what lists had filled. */
  readonly lists?: number;
}

const CASES: readonly Case[] = [
  { title: (s) => `Cut off for ${s} s`, measure: cutOff, longest: 5_000, lists: 2 },
  { title: (s) => `API server gone for ${s} s`, measure: killed, longest: 5_000, lists: 2 },
  { title: () => 'FLUSHALL', measure: flushed, longest: 10_000 },
];

/** The API server is away, and Redis loses everything, while things change. */
export async function outage(sitting: Sitting): Promise<Section[]> {
  const { seconds } = sitting.sizes.outage;
  const columns = CASES.map(({ title }) => ({ title: title(seconds), runs: [] as Figures[] }));
  for (let run = 1; run <= sitting.runs; run += 1) {
    for (const [at, one] of CASES.entries()) {
      sitting.say(`outage: run ${run} of ${sitting.runs}, ${columns[at]?.title}`);
      const figures = await sitting.stages.on((stage) => one.measure(sitting, stage));
      sitting.say(`  right again after ${figures['right']?.toFixed(0)} ms`);
      columns[at]?.runs.push(figures);
    }
  }
  return [sectionOf(sitting, columns)];
}

const RIGHT: Row = { id: 'right', label: 'right again after, ms', digits: 0 };
const MISSING: Row = { id: 'missing', label: 'changes never seen', digits: 0 };
const WRONG: Row = { id: 'wrong', label: 'Services wrong in the end', digits: 0 };
const LISTS: readonly Row[] = KINDS.map((kind) => ({
  id: kind,
  label: `lists of ${kind}, all processes`,
  digits: 0,
}));
const ROWS: Section['rows'] = [
  RIGHT,
  ...LISTS,
  { id: 'flips', label: 'changes', digits: 0 },
  MISSING,
  WRONG,
];

function sectionOf(sitting: Sitting, columns: readonly Column[]): Section {
  const { seconds, perSecond } = sitting.sizes.outage;
  return {
    title: `Outages under churn, ${sizeText(sitting.sizes.outage)}, ${perSecond} a second`,
    intro:
      'Two watchers and two workers on one Redis. Cut off: a proxy before the API server refuses all ' +
      `connections for ${seconds} s while changes go on behind it, and time counts from when it lets them ` +
      'through. Gone: the server is killed, nothing can change meanwhile, and 100 changes are made as soon ' +
      'as it is ready again; time counts from there. FLUSHALL: in the middle of the changes; what counts ' +
      'is the longest from a change to its slice. Lists are those made since then, page by page, by ' +
      'watchers and by workers that read live.',
    rows: ROWS,
    columns,
    ratio: false,
    notes: [],
    bars: CASES.flatMap((one, at) => barsOf(one, columns[at])),
  };
}

function barsOf({ longest, lists }: Case, column: Column | undefined): Bar[] {
  const bar = (row: Row, most: number): Bar[] =>
    atMost(`${column?.title}: ${row.label}`, column, row, most);
  const listed = lists === undefined ? [] : LISTS.flatMap((row) => bar(row, lists));
  return [...bar(RIGHT, longest), ...listed, ...bar(MISSING, 0), ...bar(WRONG, 0)];
}

async function cutOff(sitting: Sitting, stage: Stage): Promise<Figures> {
  const { timeoutMs, outage: size } = sitting.sizes;
  await prepare(sitting, stage, worldOf(sitting, stage, size));
  const way = await openWay(stage.kubeconfig, stage.dir);
  try {
    const tetherEnv = { ...stage.tetherEnv, KUBECONFIG: way.kubeconfig };
    const fleet = await startFleet({ ...stage, tetherEnv }, FLEET);
    return await withRunning(fleet, async () => {
      await settled(sitting, stage);
      const { perSecond, seconds } = size;
      const churning = stage.agent.churn({ perSecond, seconds: LEAD_S + seconds, timeoutMs });
      await delay(LEAD_S * 1000);
      await way.cut();
      await delay(seconds * 1000);
      const before = await lists(fleet);
      await way.restore();
      const back = monotonicMs();
      const result = await churning;
      const listed = listFigures(before, await lists(fleet));
      return { ...tally(result), ...listed, right: Math.max(0, result.to - back) };
    });
  } finally {
    await way.stop();
  }
}

async function killed(sitting: Sitting, stage: Stage): Promise<Figures> {
  const { timeoutMs, outage: size } = sitting.sizes;
  const world = worldOf(sitting, stage, size);
  await prepare(sitting, stage, world);
  const fleet = await startFleet(stage, FLEET);
  return withRunning(fleet, async () => {
    await settled(sitting, stage);
    await stage.server.kill();
    await delay(size.seconds * 1000);
    const before = await lists(fleet);
    await stage.server.restart();
    const back = monotonicMs();
    // Its own watch went with the server.
    await stage.agent.observe(world);
    const result = await stage.agent.churn({ ...BURST, timeoutMs });
    const listed = listFigures(before, await lists(fleet));
    return { ...tally(result), ...listed, right: result.to - back };
  });
}

async function flushed(sitting: Sitting, stage: Stage): Promise<Figures> {
  const { timeoutMs, outage: size } = sitting.sizes;
  await prepare(sitting, stage, worldOf(sitting, stage, size));
  const fleet = await startFleet(stage, FLEET);
  return withRunning(fleet, async () => {
    await settled(sitting, stage);
    const before = await lists(fleet);
    const { perSecond, flushSeconds: seconds } = size;
    const churning = stage.agent.churn({ perSecond, seconds: LEAD_S + seconds, timeoutMs });
    await delay(LEAD_S * 1000);
    await flushAll(fleet.redisUrl() ?? '');
    const result = await churning;
    const listed = listFigures(before, await lists(fleet));
    return { ...tally(result), ...listed, right: percentile(result.latencies, 1) };
  });
}

async function settled({ sizes }: Sitting, { agent }: Stage): Promise<void> {
  await agent.untilRight(sizes.timeoutMs);
  await delay(sizes.settleMs);
}

function tally({ flips, missing, wrong }: ChurnResult): Figures {
  return { flips, missing, wrong };
}

/** By the count of the processes themselves, whatever came of them. */
async function lists(fleet: RunningFleet): Promise<Counters> {
  const text = (await fleet.metrics()) ?? '';
  const isList = (label: (name: string) => string): boolean =>
    label('verb') === 'list' && label('code') === '200';
  return sumBy(text, 'tether_api_requests_total', ['resource'], isList);
}

function listFigures(before: Counters, after: Counters): Figures {
  const made = difference(before, after);
  return Object.fromEntries(KINDS.map((kind) => [kind, made.get(kind) ?? 0]));
}

async function flushAll(url: string): Promise<void> {
  const redis = new Redis(url);
  await redis.flushall();
  await redis.quit();
}
