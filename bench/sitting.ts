import type { Contender, RunningContender } from './contenders/contender.ts';
import { FULL_LINKED, QUICK_LINKED, type LinkedSizes } from './linked/sizes.ts';
import type { Column, Figures } from './report/section.ts';
import type { Stage, Stages } from './stage.ts';

/** How large everything is. */
export interface Sizes {
  readonly cold: readonly { readonly services: number; readonly per: number }[];
  readonly churn: ChurnSize;
  readonly oneService: readonly ChurnSize[];
  readonly resync: { readonly services: number; readonly per: number };
  readonly death: ChurnSize;
  readonly outage: OutageSize;
  readonly workers: WorkersSize;
  readonly linked: LinkedSizes;
  /** From all right to the first flip, ms: what start-up left behind is done by then. */
  readonly settleMs: number;
  /** For everything that is waited for, ms. */
  readonly timeoutMs: number;
  readonly namespaces: number;
  /** Requests under way while loading, and while writing slices directly. */
  readonly writers: number;
}

/** A world, and flips in it. */
export interface ChurnSize {
  readonly services: number;
  readonly per: number;
  readonly perSecond: number;
  readonly seconds: number;
}

/** How long the API server is away, and what changes meanwhile. */
export interface OutageSize extends ChurnSize {
  /** How long changes go on after Redis has lost everything. */
  readonly flushSeconds: number;
}

/** Keys for a window of time, by so many workers. */
export interface WorkersSize {
  readonly counts: readonly number[];
  /** More than the most workers write until the window is over. */
  readonly services: number;
  readonly windowMs: number;
  readonly settleMs: number;
}

/** What all scenarios of one call of the benchmark share. */
export interface Sitting {
  readonly stages: Stages;
  /** How often everything is repeated. */
  readonly runs: number;
  readonly sizes: Sizes;
  /** Median of slices a second written directly as JSON, by the number of Services. */
  readonly ceilings: Map<number, number>;
  readonly say: (line: string) => void;
}

const FULL: Sizes = {
  cold: [
    { services: 500, per: 4 },
    { services: 2000, per: 4 },
  ],
  churn: { services: 500, per: 4, perSecond: 50, seconds: 10 },
  oneService: [
    { services: 1, per: 2000, perSecond: 10, seconds: 10 },
    { services: 1, per: 5000, perSecond: 10, seconds: 10 },
  ],
  resync: { services: 2000, per: 4 },
  death: { services: 500, per: 4, perSecond: 50, seconds: 10 },
  outage: { services: 400, per: 4, perSecond: 20, seconds: 60, flushSeconds: 15 },
  workers: { counts: [1, 2, 4], services: 3_500, windowMs: 6_000, settleMs: 2_000 },
  linked: FULL_LINKED,
  settleMs: 2_000,
  timeoutMs: 300_000,
  namespaces: 10,
  writers: 16,
};

/** Proves that everything works; its figures mean nothing. */
const QUICK: Sizes = {
  cold: [{ services: 20, per: 2 }],
  churn: { services: 20, per: 2, perSecond: 40, seconds: 0.5 },
  oneService: [{ services: 1, per: 20, perSecond: 20, seconds: 0.5 }],
  resync: { services: 20, per: 2 },
  death: { services: 20, per: 2, perSecond: 40, seconds: 1 },
  outage: { services: 20, per: 4, perSecond: 20, seconds: 1, flushSeconds: 1 },
  workers: { counts: [1, 2], services: 200, windowMs: 300, settleMs: 0 },
  linked: QUICK_LINKED,
  settleMs: 200,
  timeoutMs: 60_000,
  namespaces: 2,
  writers: 16,
};

export function sizesFor(quick: boolean): Sizes {
  return quick ? QUICK : FULL;
}

/**
 * Runs every contender `runs` times, in turn (A B A B …), so that what changes on the machine meanwhile
 * meets both.
 */
export async function inTurn(
  sitting: Sitting,
  what: string,
  contenders: readonly Contender[],
  measure: (stage: Stage, contender: Contender) => Promise<Figures>,
): Promise<Column[]> {
  const columns = contenders.map(({ title }) => ({ title, runs: [] as Figures[] }));
  for (let run = 1; run <= sitting.runs; run += 1) {
    for (const [at, contender] of contenders.entries()) {
      sitting.say(`${what}: run ${run} of ${sitting.runs}, ${contender.title}`);
      const figures = await sitting.stages.on((stage) => measure(stage, contender));
      columns[at]?.runs.push(figures);
    }
  }
  return columns;
}

/** Works with a running controller; ends with it when it ends by itself, and stops it in the end. */
export async function withRunning<R extends RunningContender, T>(
  running: R,
  work: (running: R) => Promise<T>,
): Promise<T> {
  try {
    return await Promise.race([work(running), running.failed]);
  } finally {
    await running.stop();
  }
}
