import { setTimeout as delay } from 'node:timers/promises';
import { startFleet, type RunningFleet } from '../contenders/fleet.ts';
import type { Column, Figures, Section } from '../report/section.ts';
import { withRunning, type Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { atMost } from './bars.ts';
import { latencyFigures } from './churn.ts';
import { prepare, sizeText, worldOf } from './worlds.ts';

/** Who is killed, by SIGKILL, while workloads change. */
const VICTIMS = ['worker', 'watcher'] as const;
type Victim = (typeof VICTIMS)[number];

/** At this share of the changes the victim dies. */
const DIES_AT = 0.3;
/** What a dead worker held is put back after two seconds or so; of watchers each sees everything. */
const LONGEST_MS = { worker: 5_000, watcher: 1_000 } as const;

/** Two watchers and two workers, of which one dies under churn. */
export async function death(sitting: Sitting): Promise<Section[]> {
  const { death: size } = sitting.sizes;
  const runs = new Map<Victim, Figures[]>(VICTIMS.map((victim) => [victim, []]));
  for (let run = 1; run <= sitting.runs; run += 1) {
    for (const [victim, figures] of runs) {
      sitting.say(`death of a ${victim}: run ${run} of ${sitting.runs}`);
      figures.push(await sitting.stages.on((stage) => measure(sitting, stage, victim)));
    }
  }
  const deaths = [...runs].map(([victim, figures]) => ({
    column: { title: `A ${victim} dies`, runs: figures },
    longest: LONGEST_MS[victim],
  }));
  const columns: Column[] = deaths.map(({ column }) => column);
  return [
    {
      title: `Death under churn, ${sizeText(size)}, ${size.perSecond} a second`,
      intro:
        'Two watchers and two workers, each a process, on one Redis. While workloads change for ' +
        `${size.seconds} s one of them is killed with SIGKILL.`,
      rows: ROWS,
      columns,
      ratio: false,
      notes: [],
      bars: deaths.flatMap(({ column, longest }) => [
        ...atMost(`${column.title}: longest, ms`, column, { id: 'longest', digits: 0 }, longest),
        ...atMost(`${column.title}: flips never seen`, column, { id: 'missing', digits: 0 }, 0),
        ...atMost(`${column.title}: doubled endpoints`, column, { id: 'doubled', digits: 0 }, 0),
        ...atMost(
          `${column.title}: Services wrong in the end`,
          column,
          { id: 'wrong', digits: 0 },
          0,
        ),
      ]),
    },
  ];
}

const ROWS: Section['rows'] = [
  { id: 'longest', label: 'longest from a change to its slice, ms', digits: 0 },
  { id: 'silence', label: 'longest time without any update, ms', digits: 0 },
  { id: 'p50', label: 'p50, ms', digits: 1 },
  { id: 'p99', label: 'p99, ms', digits: 1 },
  { id: 'flips', label: 'changes', digits: 0 },
  { id: 'missing', label: 'changes never seen', digits: 0 },
  { id: 'doubled', label: 'events that showed an endpoint twice', digits: 0 },
  { id: 'wrong', label: 'Services wrong in the end (lacking, doubled or outdated)', digits: 0 },
];

async function measure(sitting: Sitting, stage: Stage, victim: Victim): Promise<Figures> {
  const { death: size, settleMs, timeoutMs } = sitting.sizes;
  await prepare(sitting, stage, worldOf(sitting, stage, size));
  const fleet = await startFleet(stage, { watchers: 2, workers: 2 });
  return withRunning(fleet, async () => {
    await stage.agent.untilRight(timeoutMs);
    await delay(settleMs);
    const { perSecond, seconds } = size;
    const churning = stage.agent.churn({ perSecond, seconds, timeoutMs });
    const killing = killLater(fleet, victim, seconds * 1000 * DIES_AT);
    const [result] = await Promise.all([churning, killing]);
    const figures = latencyFigures(result);
    sitting.say(`  longest ${figures.longest.toFixed(0)} ms, ${result.missing} missing`);
    return { ...figures, silence: result.longestSilence };
  });
}

async function killLater(fleet: RunningFleet, victim: Victim, ms: number): Promise<void> {
  await delay(ms);
  const [first] = victim === 'worker' ? fleet.workers : fleet.watchers;
  await first?.kill();
}
