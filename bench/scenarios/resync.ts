import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { monotonicMs } from '../clock.ts';
import type { RunningContender } from '../contenders/contender.ts';
import { startMeasured } from '../contenders/process.ts';
import { TETHER, tetherUp } from '../contenders/tether.ts';
import { beginCosts, type Costs } from '../measure/costs.ts';
import { sumBy, total } from '../measure/prometheus.ts';
import { costFigures, costNotes, costRows } from '../report/cost-figures.ts';
import type { Figures, Section } from '../report/section.ts';
import { inTurn, withRunning, type Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { atMost } from './bars.ts';
import { prepare, sizeText, worldOf } from './worlds.ts';

const POLL_MS = 100;

/** `tether resync` where nothing is to be done. */
export async function resync(sitting: Sitting): Promise<Section[]> {
  const { resync: size } = sitting.sizes;
  const what = `Idle resync, ${sizeText(size)}`;
  const last: { costs?: Costs } = {};
  const columns = await inTurn(sitting, what, [tetherUp], (stage) => measure(sitting, stage, last));
  const [ours] = columns;
  return [
    {
      title: what,
      intro:
        'Everything is right; `tether resync` enqueues every Service. Time counts from the start of ' +
        'that command until the last of them was reconciled. The command itself lists the Services; ' +
        'what is counted for the functions is all else.',
      rows: ROWS,
      columns,
      ratio: false,
      notes: last.costs === undefined ? [] : costNotes('Tether', last.costs),
      bars: [
        ...atMost(`${what}: API writes`, ours, { id: 'functionWrites', digits: 0 }, 0),
        ...atMost(`${what}: API reads by functions`, ours, { id: 'functionReads', digits: 0 }, 0),
      ],
    },
  ];
}

const ROWS: Section['rows'] = [
  { id: 'seconds', label: 'seconds', digits: 2 },
  { id: 'rate', label: 'reconciles a second', digits: 0 },
  { id: 'functionReads', label: 'API reads by functions', digits: 0 },
  { id: 'functionWrites', label: 'API writes by functions', digits: 0 },
  ...costRows('Service'),
];

async function measure(sitting: Sitting, stage: Stage, last: { costs?: Costs }): Promise<Figures> {
  const { resync: size, settleMs, timeoutMs } = sitting.sizes;
  const world = worldOf(sitting, stage, size);
  await prepare(sitting, stage, world);
  return withRunning(await tetherUp.start(stage), async (running) => {
    await stage.agent.untilRight(timeoutMs);
    await delay(settleMs);
    const endCosts = await beginCosts(stage, running);
    const seconds = await resyncOnce(stage, running, world.services, timeoutMs);
    const costs = await endCosts(running);
    last.costs = costs;
    sitting.say(`  ${seconds.toFixed(2)} s`);
    return {
      seconds,
      rate: world.services / seconds,
      ...functionRequests(costs),
      ...costFigures(costs, world.services),
    };
  });
}

/**
 * Runs `tether resync` and waits until so many more reconciles were made; gives the seconds. The end
 * is seen 100 ms late at most.
 */
export async function resyncOnce(
  stage: Stage,
  running: RunningContender,
  services: number,
  timeoutMs: number,
): Promise<number> {
  const before = await reconciles(running);
  const from = monotonicMs();
  const command = startMeasured(TETHER, ['resync'], {
    cwd: stage.dir,
    logFile: join(stage.dir, 'resync.log'),
    env: { ...stage.tetherEnv, TETHER_REDIS_URL: running.redisUrl() ?? '' },
  });
  const { code } = await command.exited;
  if (code !== 0) throw new Error(`tether resync: ${command.log()}`);
  while ((await reconciles(running)) - before < services) {
    if (monotonicMs() - from > timeoutMs) throw new Error('the resync came to no end');
    await delay(POLL_MS);
  }
  return (monotonicMs() - from) / 1000;
}

async function reconciles(running: RunningContender): Promise<number> {
  return total(sumBy((await running.metrics()) ?? '', 'tether_reconciles_total', []));
}

/** By Tether's own count, which the lists of the command are not in. */
function functionRequests({ ownRequests }: Costs): Figures {
  return {
    functionReads: total(ownRequests, /^(get|list) /),
    functionWrites: total(ownRequests, /^(create|update|patch|delete) /),
  };
}
