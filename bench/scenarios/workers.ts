import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { startFleet, type RunningFleet } from '../contenders/fleet.ts';
import { logged } from '../contenders/tether.ts';
import { sumBy, total } from '../measure/prometheus.ts';
import type { Bar, Column, Figures, Section } from '../report/section.ts';
import { withRunning, type Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { openWay } from '../way/way.ts';
import { atLeast } from './bars.ts';
import { prepare, worldOf } from './worlds.ts';

/** Keys that one worker has in hand at a time, and what is added to each call to the API server, ms. */
const CONCURRENCY = 8;
const LATE_MS = 100;
/** One call a key: the most that a worker can do in a second. */
const CEILING = (CONCURRENCY * 1000) / LATE_MS;
/** What more workers are to bring, as a multiple of one. */
const BARS: Readonly<Record<number, number>> = { 2: 1.9, 4: 3.6 };
const POLL_MS = 10;

/** How throughput grows with the number of worker processes where the API server is far away. */
export async function workers(sitting: Sitting): Promise<Section[]> {
  const { counts } = sitting.sizes.workers;
  const columns = counts.map((count) => ({ title: titleOf(count), runs: [] as Figures[] }));
  for (let run = 1; run <= sitting.runs; run += 1) {
    let one: number | undefined;
    for (const [at, count] of counts.entries()) {
      sitting.say(`workers: run ${run} of ${sitting.runs}, ${titleOf(count)}`);
      const rate = await sitting.stages.on((stage) => measure(sitting, stage, count));
      sitting.say(`  ${rate.toFixed(1)} keys a second`);
      if (count === 1) one = rate;
      columns[at]?.runs.push(figuresOf(rate, count, one));
    }
  }
  return [sectionOf(sitting, columns)];
}

const titleOf = (count: number): string => (count === 1 ? '1 worker' : `${count} workers`);

function figuresOf(rate: number, count: number, one: number | undefined): Figures {
  return {
    rate,
    times: one === undefined || one === 0 ? undefined : rate / one,
    ceiling: CEILING * count,
    share: (rate / (CEILING * count)) * 100,
  };
}

const TIMES = { id: 'times', label: 'times that of one worker', digits: 2 };
const ROWS: Section['rows'] = [
  { id: 'rate', label: 'keys a second', digits: 1 },
  TIMES,
  { id: 'ceiling', label: 'no more is possible, keys a second', digits: 0 },
  { id: 'share', label: 'share of that, %', digits: 1 },
];

function sectionOf(sitting: Sitting, columns: readonly Column[]): Section {
  const { counts, windowMs, settleMs } = sitting.sizes.workers;
  const bars = counts.flatMap((count, at): Bar[] => {
    const least = BARS[count];
    const what = `${titleOf(count)}: times the throughput of one`;
    return least === undefined ? [] : atLeast(what, columns[at], TIMES, least);
  });
  return {
    title: 'More workers, a slow API server',
    intro:
      `Worker processes with \`--concurrency ${CONCURRENCY}\`, whose every call to the API server arrives ` +
      `${LATE_MS} ms late; one watcher, which goes the short way. A first convergence: each key is one ` +
      `create. Counted for ${windowMs / 1000} s, from ${settleMs / 1000} s after all processes are ready and all ` +
      'keys are in the queue: a new process compiles what it runs first.',
    rows: ROWS,
    columns,
    ratio: false,
    notes: [],
    bars,
  };
}

/** Keys a second of so many workers together. */
async function measure(sitting: Sitting, stage: Stage, count: number): Promise<number> {
  const { services, windowMs, settleMs } = sitting.sizes.workers;
  const world = { ...worldOf(sitting, stage, { services, per: 1 }), withStatus: false };
  await prepare(sitting, stage, world);
  const way = await openWay(stage.kubeconfig, stage.dir);
  try {
    await way.slow(LATE_MS);
    const workerArgs = [
      `--concurrency=${CONCURRENCY}`,
      `--kubeconfig=${way.kubeconfig}`,
      '--workloads-without-status=ready',
    ];
    const fleet = await startFleet(stage, { watchers: 1, workers: count, workerArgs });
    return await withRunning(fleet, async () => {
      await untilReady(fleet, sitting.sizes.timeoutMs);
      await delay(settleMs);
      const from = await read(fleet);
      await delay(windowMs);
      const to = await read(fleet);
      if (to.written >= services) sitting.say('  the keys did not last: the figure is too low');
      return ((to.written - from.written) * 1000) / (to.at - from.at);
    });
  } finally {
    await way.stop();
  }
}

/** The watcher is ready once every key is in the queue. */
async function untilReady(fleet: RunningFleet, timeoutMs: number): Promise<void> {
  const giveUp = monotonicMs() + timeoutMs;
  const all = [...fleet.watchers, ...fleet.workers];
  while (!all.every((child) => logged(child.log(), 'ready') !== undefined)) {
    if (monotonicMs() > giveUp) throw new Error(`not ready within ${timeoutMs / 1000} s`);
    await Promise.race([delay(POLL_MS), fleet.failed]);
  }
}

async function read(
  fleet: RunningFleet,
): Promise<{ readonly at: number; readonly written: number }> {
  const asked = monotonicMs();
  const text = (await fleet.metrics()) ?? '';
  const at = (asked + monotonicMs()) / 2;
  return { at, written: total(sumBy(text, 'tether_slice_writes_total', ['result']), /^ok$/) };
}
