import { setTimeout as delay } from 'node:timers/promises';
import { startFleet } from '../contenders/fleet.ts';
import type { Figures, Section } from '../report/section.ts';
import { withRunning, type Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { atMost } from './bars.ts';
import { prepare, sizeText, worldOf } from './worlds.ts';

/** What either role may take, MiB. */
const MOST_MIB = 250;
const WATCHER = { id: 'watcher', label: 'peak memory of the watcher, MiB', digits: 0 };
const WORKER = { id: 'worker', label: 'peak memory of the worker, MiB', digits: 0 };
const ROWS: Section['rows'] = [
  { id: 'seconds', label: 'seconds until all are right', digits: 2 },
  { id: 'rate', label: 'Services a second', digits: 0 },
  WATCHER,
  WORKER,
  { id: 'redis', label: 'peak memory of Redis, MiB', digits: 0 },
];

/** A cold start with watcher and worker as a process each, as in a cluster: what each takes of memory. */
export async function apart(sitting: Sitting): Promise<Section[]> {
  const size = sitting.sizes.resync;
  const what = `Roles apart, ${sizeText(size)}`;
  const runs: Figures[] = [];
  for (let run = 1; run <= sitting.runs; run += 1) {
    sitting.say(`${what}: run ${run} of ${sitting.runs}`);
    runs.push(await sitting.stages.on((stage) => measure(sitting, stage)));
  }
  const column = { title: 'Tether', runs };
  return [
    {
      title: what,
      intro:
        'A cold start of one watcher and one worker, each a process, on one Redis. Memory is the ' +
        'largest that a process was ever resident with, from its start until two seconds after all is right.',
      rows: ROWS,
      columns: [column],
      ratio: false,
      notes: [],
      bars: [
        ...atMost(`${what}: memory of the watcher, MiB`, column, WATCHER, MOST_MIB),
        ...atMost(`${what}: memory of the worker, MiB`, column, WORKER, MOST_MIB),
      ],
    },
  ];
}

async function measure(sitting: Sitting, stage: Stage): Promise<Figures> {
  const { resync: size, settleMs, timeoutMs } = sitting.sizes;
  const world = worldOf(sitting, stage, size);
  await prepare(sitting, stage, world);
  const fleet = await startFleet(stage, { watchers: 1, workers: 1 });
  return withRunning(fleet, async () => {
    const { rightAt } = await stage.agent.untilRight(timeoutMs);
    await delay(settleMs);
    const memory = stage.usage.memory();
    const peak = (name: string): number | undefined => memory.get(name)?.peakMiB;
    const seconds = (rightAt - fleet.startedAt) / 1000;
    sitting.say(`  ${seconds.toFixed(2)} s, watcher ${peak('watcher')?.toFixed(0)} MiB`);
    return {
      seconds,
      rate: world.services / seconds,
      watcher: peak('watcher'),
      worker: peak('worker'),
      redis: peak('Redis'),
    };
  });
}
