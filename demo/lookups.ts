import { setTimeout as delay } from 'node:timers/promises';
import { describeError } from '../core/errors.ts';
import { DemoError, LIMIT_MS } from './demo-error.ts';

/** What the demo reads of an answer to a look-up. */
export interface LookupAnswer {
  readonly state?: string;
  readonly endpoints?: readonly unknown[];
  /** Of an answer that is none. */
  readonly code?: string;
  readonly error?: string;
}

const PAUSE_MS = 20;

/**
 * Asks until the answer holds.
 *
 * @throws {DemoError} with the last answer, when none does in time.
 */
export async function untilAnswer(
  url: string,
  wanted: string,
  holds: (answer: LookupAnswer) => boolean,
): Promise<LookupAnswer> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const { text, answer } = await ask(url);
    if (holds(answer)) return answer;
    if (performance.now() > deadline) {
      throw new DemoError(`after ${LIMIT_MS / 1000} s ${url} is not ${wanted}, but: ${text}`);
    }
    await delay(PAUSE_MS);
  }
}

/** Asks again and again until it is stopped. */
export interface PolledLookups {
  /** Goes on for so long. */
  forMs(ms: number): Promise<void>;
  /**
   * How many answers came, and the fewest endpoints that one had.
   *
   * @throws {DemoError} when one was no answer, or not all had as many.
   */
  stop(): Promise<{ readonly answers: number; readonly fewest: number }>;
}

export function pollLookups(url: string): PolledLookups {
  const counts = new Map<number, number>();
  let stopped = false;
  const polling = (async (): Promise<void> => {
    while (!stopped) {
      const { text, answer } = await ask(url);
      const count = answer.endpoints?.length;
      if (count === undefined) throw new DemoError(`a look-up was refused: ${text}`);
      counts.set(count, (counts.get(count) ?? 0) + 1);
      // One of many turns: others want to run as well.
      await delay(1);
    }
  })();
  // Looked at when it is stopped.
  polling.catch(() => undefined);
  return {
    forMs: (ms) => delay(ms),
    stop: async () => {
      stopped = true;
      await polling;
      const [first, ...others] = [...counts];
      if (first === undefined) throw new DemoError('no look-up was answered');
      if (others.length === 0) return { answers: first[1], fewest: first[0] };
      throw new DemoError(
        `look-ups had different numbers of endpoints: ${[...counts.keys()].join(', ')}`,
      );
    },
  };
}

async function ask(url: string): Promise<{ readonly text: string; readonly answer: LookupAnswer }> {
  try {
    const text = await (await fetch(url)).text();
    return { text, answer: JSON.parse(text) as LookupAnswer };
  } catch (error) {
    throw new DemoError(`${url} could not be asked: ${describeError(error)}`);
  }
}
