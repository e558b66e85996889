import { setTimeout as delay } from 'node:timers/promises';
import { act, type ActionCounts } from './actions.ts';
import { inflict } from './faults.ts';
import type { Excuse } from './overlaps.ts';
import { describeFault, keyOf, type Fault, type Phase, type Step } from './schedule/steps.ts';
import type { Stage } from './stage.ts';

/** What happened between two quiet points, as far as the checks have to know. */
export interface Played {
  readonly counts: ActionCounts;
  readonly faults: number;
  /** Services whose slices were changed by hand. */
  readonly damaged: ReadonlySet<string>;
  /** When locks could not hold. */
  readonly excuses: readonly Excuse[];
}

/** Makes all changes and all faults of a phase at their times, or later where something is slow. */
export async function play(stage: Stage, { steps }: Phase, signal: AbortSignal): Promise<Played> {
  const clock = startClock(signal);
  const counts: ActionCounts = { done: 0, missed: 0, refused: [] };
  const excuses: Excuse[] = [];
  const changes = async (): Promise<void> => {
    for (const step of steps) {
      if ('fault' in step) continue;
      await clock.until(step.at);
      await act(stage, step.action, counts, signal);
    }
  };
  const faults = steps.filter((step) => 'fault' in step);
  const turns = new Map<string, Promise<void>>();
  const suffering = faults.map((step) => {
    // What comes late must not meet the next fault of the same thing.
    const of = 'member' in step.fault ? step.fault.member : step.fault.fault.slice(0, 5);
    const turn = (turns.get(of) ?? Promise.resolve()).then(() =>
      suffer(stage, step, clock, excuses),
    );
    turns.set(of, turn);
    return turn;
  });
  await Promise.all([changes(), ...suffering]);
  return { counts, faults: faults.length, damaged: damagedBy(steps), excuses };
}

interface Clock {
  /** Waits for a moment of the phase, ms. */
  until(at: number): Promise<void>;
}

function startClock(signal: AbortSignal): Clock {
  const begun = performance.now();
  return {
    until: async (at) => {
      const left = begun + at - performance.now();
      if (left > 0) await delay(left, undefined, { signal });
      signal.throwIfAborted();
    },
  };
}

async function suffer(
  stage: Stage,
  { at, forMs, fault }: Extract<Step, { readonly fault: Fault }>,
  clock: Clock,
  excuses: Excuse[],
): Promise<void> {
  await clock.until(at);
  const from = performance.now();
  const mend = await inflict(stage, fault);
  try {
    await clock.until(at + forMs);
  } finally {
    await mend();
  }
  if (!breaksLocks(fault)) return;
  // Two seconds are what a lock lasts, one more is for what was under way.
  excuses.push({ why: describeFault(fault), from: from - 1_000, to: performance.now() + 3_000 });
}

/** A holder that hangs, dies or cannot reach its server; a Redis that forgets or does not answer. */
function breaksLocks({ fault }: Fault): boolean {
  const reasons: readonly Fault['fault'][] = ['kill', 'stop', 'pause', 'unreachable'];
  return fault.startsWith('redis ') || reasons.includes(fault);
}

function damagedBy(steps: readonly Step[]): Set<string> {
  const damaged = steps.flatMap((step) => {
    if ('fault' in step || step.action.do !== 'damage') return [];
    return [keyOf(step.action.target)];
  });
  return new Set(damaged);
}
