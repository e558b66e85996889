import { describeError } from '../../core/errors.ts';
import type { CompiledOptions, ReflectorState } from './options.ts';

/** The memory of one loop: a few numbers, never an object of the cluster. */
export interface Loop<T> {
  readonly options: CompiledOptions<T>;
  state: ReflectorState;
  /** Where to watch from; undefined: a list comes first. */
  version: string | undefined;
  /** `performance.now()` of the last page, event or bookmark. */
  lastContact: number;
  /** Failures in a row, with an answer. */
  failures: number;
  /** Failures in a row, without any. */
  unanswered: number;
  /** Looks for a kind that is not served, in a row. */
  polls: number;
  /** Watches in a row that ended in a suspect way and brought nothing; see `MAX_FRUITLESS`. */
  fruitless: number;
  restarts: number;
  lists: number;
  sinkErrors: number;
  repeats: number;
  lastError: string | undefined;
}

/** The beginning of a loop. */
export function newLoop<T>(options: CompiledOptions<T>): Loop<T> {
  return {
    options,
    state: { kind: 'listing' },
    version: undefined,
    lastContact: performance.now(),
    failures: 0,
    unanswered: 0,
    polls: 0,
    fruitless: 0,
    restarts: 0,
    lists: 0,
    sinkErrors: 0,
    repeats: 0,
    lastError: undefined,
  };
}

/** Tells the sink of a new state; a sink that throws at it is logged and nothing else. */
export function enter<T>(loop: Loop<T>, state: ReflectorState): void {
  loop.state = state;
  contain(loop, 'at a change of state', () => loop.options.sink.onState(state));
}

/** Runs a call-back whose failure changes nothing for the loop. */
export function contain<T>(loop: Loop<T>, step: string, call: () => void): void {
  try {
    call();
  } catch (error) {
    countSinkError(loop, step, error);
  }
}

/** Counts and logs what the sink threw. */
export function countSinkError<T>(loop: Loop<T>, step: string, error: unknown): void {
  loop.sinkErrors += 1;
  const { log, what } = loop.options;
  log.error({ resource: what, error: describeError(error) }, `the consumer failed ${step}`);
}
