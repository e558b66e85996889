import { setTimeout as delay } from 'node:timers/promises';
import type { ChurnResult } from '../agent/churn.ts';
import { controllerManager } from '../contenders/controller-manager.ts';
import type { Contender } from '../contenders/contender.ts';
import { tetherUp } from '../contenders/tether.ts';
import { beginCosts, type Costs } from '../measure/costs.ts';
import { costFigures, costNotes, costRows } from '../report/cost-figures.ts';
import type { Bar, Column, Figures, Section } from '../report/section.ts';
import { inTurn, withRunning, type ChurnSize, type Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { percentile } from '../statistics.ts';
import { atMost, medianAtMost, noWorse } from './bars.ts';
import { prepare, sizeText, worldOf } from './worlds.ts';

/** Readiness flips on many Services. */
export async function churnOfMany(sitting: Sitting): Promise<Section[]> {
  return [await churnOf(sitting, sitting.sizes.churn)];
}

/** Readiness flips on one large Service, whose slices hold 100 endpoints each. */
export async function churnOfOne(sitting: Sitting): Promise<Section[]> {
  const sections: Section[] = [];
  for (const size of sitting.sizes.oneService) sections.push(await churnOf(sitting, size));
  return sections;
}

async function churnOf(sitting: Sitting, size: ChurnSize): Promise<Section> {
  const shown = `${sizeText(size)}, ${size.perSecond} a second`;
  const what = size.services === 1 ? `One Service, ${shown}` : `Churn, ${shown}`;
  const costs = new Map<string, Costs>();
  const columns = await inTurn(sitting, what, [tetherUp, controllerManager], (stage, contender) =>
    measure(sitting, stage, size, contender, costs),
  );
  return {
    title: what,
    intro:
      `Once all is right and ${sitting.sizes.settleMs / 1000} s later, workloads (or Pods) become ` +
      `unready, ${size.perSecond} a second for ${size.seconds} s, each once. Time counts from just ` +
      'before the request is sent until the observer’s watch shows the endpoint unready.',
    rows: ROWS,
    columns,
    ratio: true,
    notes: [...costs].flatMap(([title, cost]) => costNotes(title, cost)),
    bars: barsOf(what, size, columns),
  };
}

const ROWS: Section['rows'] = [
  { id: 'p50', label: 'p50, ms', digits: 1 },
  { id: 'p90', label: 'p90, ms', digits: 1 },
  { id: 'p99', label: 'p99, ms', digits: 1 },
  { id: 'longest', label: 'longest, ms', digits: 1 },
  { id: 'request', label: 'p50 of the request that makes a flip, ms', digits: 1 },
  { id: 'flips', label: 'flips', digits: 0 },
  { id: 'missing', label: 'flips never seen', digits: 0 },
  { id: 'wrong', label: 'Services wrong in the end', digits: 0 },
  { id: 'writes', label: 'slice writes a flip', digits: 2 },
  ...costRows('flip'),
];

async function measure(
  sitting: Sitting,
  stage: Stage,
  size: ChurnSize,
  contender: Contender,
  last: Map<string, Costs>,
): Promise<Figures> {
  const { settleMs, timeoutMs } = sitting.sizes;
  await prepare(sitting, stage, worldOf(sitting, stage, size, contender.backing));
  return withRunning(await contender.start(stage), async (running) => {
    await stage.agent.untilRight(timeoutMs);
    await delay(settleMs);
    const endCosts = await beginCosts(stage, running);
    const { perSecond, seconds } = size;
    const result = await stage.agent.churn({ perSecond, seconds, timeoutMs });
    const costs = await endCosts(running);
    last.set(contender.title, costs);
    const figures = latencyFigures(result);
    sitting.say(
      `  p50 ${figures.p50.toFixed(1)}, p99 ${figures.p99.toFixed(1)} ms, ${result.missing} missing`,
    );
    return { ...figures, ...costFigures(costs, result.flips) };
  });
}

/** What the rows show of the flips themselves. */
export function latencyFigures(result: ChurnResult) {
  const { latencies, requests, flips, missing, doubled, wrong, sliceWrites } = result;
  return {
    p50: percentile(latencies, 0.5),
    p90: percentile(latencies, 0.9),
    p99: percentile(latencies, 0.99),
    longest: percentile(latencies, 1),
    request: percentile(requests, 0.5),
    flips,
    missing,
    doubled,
    wrong,
    writes: sliceWrites / flips,
  };
}

/** What is asked for beside the tuned peer. */
const P50 = { id: 'p50', digits: 1, better: 'lower', times: 1.25 } as const;
const P99 = { id: 'p99', digits: 1, better: 'lower', times: 2 } as const;
/** For 2,000 workloads; Linkerd's destination controller takes 34 on such a machine. */
const ONE_SERVICE_P50_MS = 25;

/** A look at other writers happens to come by every few minutes: a read or two in 500 flips. */
const BESIDE = 0.01;

function barsOf(what: string, size: ChurnSize, columns: readonly Column[]): Bar[] {
  const [ours] = columns;
  return [
    ...noWorse({ ...P50, what: `${what}: p50, ms`, columns }),
    ...noWorse({ ...P99, what: `${what}: p99, ms`, columns }),
    ...medianAtMost(`${what}: slice writes a flip`, ours, { id: 'writes', digits: 2 }, 1),
    ...medianAtMost(`${what}: API reads a flip`, ours, { id: 'apiReads', digits: 2 }, BESIDE),
    ...(size.services === 1 && size.per === 2_000
      ? medianAtMost(`${what}: p50, ms`, ours, P50, ONE_SERVICE_P50_MS)
      : []),
    ...atMost(`${what}: flips never seen`, ours, { id: 'missing', digits: 0 }, 0),
    ...atMost(`${what}: Services wrong in the end`, ours, { id: 'wrong', digits: 0 }, 0),
  ];
}
