import { backoffMs, type BackoffBounds } from '../core/backoff.ts';
import { sleep } from '../platform/process/sleep.ts';
import { Control } from './list-watch/control.ts';
import { deliverList } from './list-watch/deliver-list.ts';
import { followWatch } from './list-watch/follow-watch.ts';
import type { WatchCourse } from './list-watch/follow-watch.ts';
import { contain, enter, newLoop } from './list-watch/loop.ts';
import type { Loop } from './list-watch/loop.ts';
import { compileOptions } from './list-watch/options.ts';
import type { ReflectorOptions, ReflectorState } from './list-watch/options.ts';
import { SinkError, verdictOf } from './list-watch/verdict.ts';
import type { Verdict } from './list-watch/verdict.ts';

export type { ReflectorOptions, ReflectorSink, ReflectorState } from './list-watch/options.ts';

export interface ReflectorHealth {
  readonly state: ReflectorState;
  /** Age in ms of the last page, event or bookmark (monotonic clock); of the start while there was none. */
  readonly lastContactMs: number;
  /** How often the loop recovered from a failure since its start. */
  readonly restarts: number;
  /** Where the watch is, or would go on from; undefined: a list comes first. */
  readonly resourceVersion: string | undefined;
  /** The last failure, kept after recovery; undefined while there was none. */
  readonly lastError: string | undefined;
  /** Complete lists so far; 0: never synced. */
  readonly lists: number;
  /** How often the sink threw. */
  readonly sinkErrors: number;
  /** Events dropped because the server sent the very same one again. */
  readonly repeats: number;
}

export interface Reflector {
  /** Ends the loop, its sockets and timers; the sink hears `stopped` and then nothing more. */
  stop(): Promise<void>;
  /**
   * Lists anew; resolves once that list was delivered in full. Calls during a list share the one that
   * follows it, since what the caller wants to see repaired may have been on a page already given.
   * Never cuts a backoff short. Rejects with ShutdownError when the loop is stopped first.
   */
  relist(reason: string): Promise<void>;
  health(): ReflectorHealth;
}

/** After so many suspect watches in a row without any news a list is due; see `mustRelist`. */
const MAX_FRUITLESS = 2;
/** A watch that ends cleanly before this, in ms, is a failure: else the loop could spin. */
const SHORT_WATCH_MS = 1_000;

/**
 * Keeps one kind of one API server in sight: list, watch, and again, until `stop`. It has no store
 * and no end of its own; docs/watch-loop.md is its state machine.
 */
export function startReflector<T>(options: ReflectorOptions<T>): Reflector {
  const loop = newLoop(compileOptions(options));
  const control = new Control();
  const done = run(loop, control);
  return {
    async stop() {
      control.stop();
      await done;
    },
    relist(reason) {
      loop.options.log.info({ resource: loop.options.what, reason }, 'listing anew');
      return control.askForList();
    },
    health: () => ({
      state: loop.state,
      lastContactMs: performance.now() - loop.lastContact,
      restarts: loop.restarts,
      resourceVersion: loop.version,
      lastError: loop.lastError,
      lists: loop.lists,
      sinkErrors: loop.sinkErrors,
      repeats: loop.repeats,
    }),
  };
}

/** The one loop; everything that goes wrong ends in `recover`, and nothing but `stop` ends it. */
async function run<T>(loop: Loop<T>, control: Control): Promise<void> {
  const stopped = control.stopping.signal;
  // The caller gets the reflector before the sink hears of it.
  await Promise.resolve();
  enter(loop, { kind: 'listing' });
  while (!stopped.aborted) {
    const round = control.nextRound();
    try {
      await once(loop, control, round);
    } catch (error) {
      if (!round.aborted) await recover(loop, error, stopped);
    }
  }
  enter(loop, { kind: 'stopped' });
}

/** One list if one is due, then one watch. */
async function once<T>(loop: Loop<T>, control: Control, round: AbortSignal): Promise<void> {
  if (loop.version === undefined || control.listWanted) {
    await control.list(() => deliverList(loop, round));
  }
  const version = loop.version;
  if (version === undefined || control.listWanted) return;
  const course: WatchCourse = {
    opened: false,
    progressed: false,
    bookmarked: false,
    begunAt: performance.now(),
    last: '',
  };
  let failure: unknown;
  try {
    await followWatch(loop, version, course, round);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    settleCourse(loop, course, failure);
  }
  if (performance.now() - course.begunAt >= SHORT_WATCH_MS) return;
  throw new Error(`watch ${loop.options.what}: the server ended it within a second`);
}

/** Failures are forgotten only after a watch that was healthy: it stood for a while, or brought news. */
function settleCourse<T>(loop: Loop<T>, course: WatchCourse, failure: unknown): void {
  const stood = course.opened && performance.now() - course.begunAt >= loop.options.healthyMs;
  const healthy = (stood || course.progressed) && !(failure instanceof SinkError);
  if (healthy) loop.failures = loop.unanswered = 0;
  if (course.progressed || course.bookmarked) loop.fruitless = 0;
  else if (failure !== undefined && verdictOf(failure).suspectVersion) loop.fruitless += 1;
}

async function recover<T>(loop: Loop<T>, error: unknown, stopped: AbortSignal): Promise<void> {
  const verdict = verdictOf(error);
  loop.lastError = verdict.reason;
  if (verdict.next === 'wait-for-kind') loop.polls += 1;
  else {
    if (verdict.unreachable) loop.unanswered += 1;
    else loop.failures += 1;
    loop.restarts += 1;
  }
  if (mustRelist(loop, verdict)) loop.version = undefined;
  const delayMs = delayOf(loop, verdict);
  announce(loop, verdict, delayMs);
  await sleep(delayMs, stopped);
}

/**
 * A server whose history went back (restored from a backup) accepts the watch of a version that it
 * never had and stays silent for good; a line that cannot be read comes again as long as the watch
 * begins before it. Hence a list after two such watches. Mere cuts do not count: a load balancer that
 * cuts idle connections must not cost a list each time.
 */
function mustRelist<T>(loop: Loop<T>, verdict: Verdict): boolean {
  if (verdict.next !== 'resume') return true;
  if (!verdict.suspectVersion || loop.fruitless < MAX_FRUITLESS) return false;
  loop.fruitless = 0;
  return true;
}

function delayOf<T>(loop: Loop<T>, verdict: Verdict): number {
  const { random, unreachableCapMs } = loop.options;
  const own = backoffMs(...stepOf(loop, verdict), random);
  // A server that is starting says five seconds to everybody, whatever it still needs.
  const most = verdict.unreachable ? unreachableCapMs : Infinity;
  const asked = Math.min(verdict.retryAfterMs, most);
  if (asked === 0) return own;
  // A little more than asked, so that those told the same do not come back as one.
  return Math.max(own, Math.round(asked * (1 + 0.1 * random())));
}

/**
 * How often the server did not answer says nothing about one that does: after an outage its first word
 * is often 410 or 429, and to wait for long then would make the outage longer. Each of the two counts
 * is forgotten by a healthy watch alone, so that taking turns makes nothing faster.
 */
function stepOf<T>(loop: Loop<T>, verdict: Verdict): [number, BackoffBounds] {
  const { backoff, kindPoll, unreachableCapMs } = loop.options;
  if (verdict.next === 'wait-for-kind') return [loop.polls, kindPoll];
  if (!verdict.unreachable) return [loop.failures, backoff];
  return [loop.unanswered, { ...backoff, capMs: Math.min(backoff.capMs, unreachableCapMs) }];
}

function announce<T>(loop: Loop<T>, verdict: Verdict, delayMs: number): void {
  const { log, what } = loop.options;
  const attempt = loop.failures + loop.unanswered;
  const fields = { resource: what, reason: verdict.reason, nextTryMs: delayMs, attempt };
  if (verdict.next !== 'wait-for-kind') {
    // The first failure is often a mere cut; a second in a row is worth a look.
    const level = attempt === 1 ? 'info' : 'warn';
    contain(loop, 'at a log line', () => log[level](fields, 'list and watch will be tried again'));
    enter(loop, { kind: 'retrying', reason: verdict.reason, nextTryMs: delayMs, attempt });
    return;
  }
  if (loop.state.kind === 'waiting-for-kind') return;
  contain(loop, 'at a log line', () => log.warn(fields, 'the server does not serve this kind yet'));
  enter(loop, { kind: 'waiting-for-kind', reason: verdict.reason });
}
