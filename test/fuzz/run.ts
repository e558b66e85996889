import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHistory } from './check.ts';
import { failureOf, noteSchedule, replayCommand } from './failure.ts';
import { play } from './phase.ts';
import { untilRight } from './quiet-point.ts';
import { schedule } from './schedule/generate.ts';
import type { Phase } from './schedule/steps.ts';
import { MANAGER, setUpStage, type Stage } from './stage.ts';
import { World } from './world.ts';

export interface FuzzOptions {
  readonly seed: number;
  /** No phase begins after this time. */
  readonly minutes: number;
  readonly quietEverySeconds: number;
  /** Takes a line of progress. */
  readonly say: (line: string) => void;
  /** Ends the run early. */
  readonly signal?: AbortSignal;
  /** Leaves logs and schedule also of a run in which nothing was wrong. */
  readonly keep?: boolean;
}

/** Totals of a run in which nothing was wrong. */
export interface FuzzReport {
  quietPoints: number;
  changes: number;
  faults: number;
  /** Longest time from the end of a phase until all was right, ms. */
  slowestMs: number;
  /** Endpoints that had to be ready from one quiet point to the next, and were. */
  watched: number;
  /** States of the slices that were looked through for them. */
  states: number;
  /** Writes of the members that were judged. */
  writes: number;
  /** Two writers of a key at once, while its lock could not hold. */
  overlapsExcused: number;
  /** Requests of the schedule that the API server did not allow. */
  readonly refused: string[];
}

/**
 * Lets the schedule of a seed loose on real processes, and checks at each quiet point that all is as
 * it should be, and was in between (docs/fuzzing.md).
 *
 * @throws {FuzzFailure} as soon as something is wrong; the logs stay then.
 */
export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { seed, minutes, quietEverySeconds, say } = options;
  say(`fuzz: seed ${seed}; again: ${replayCommand(seed, minutes, quietEverySeconds)}`);
  const dir = await mkdtemp(join(tmpdir(), 'tether-fuzz-'));
  const owned = new AsyncDisposableStack();
  let done = false;
  try {
    const stage = await setUpStage(dir, seed, owned);
    say(`fuzz: all is up, at most ${stage.maxEndpoints} endpoints a slice; logs in ${dir}`);
    const report = await playAll(stage, options);
    done = true;
    return report;
  } finally {
    await owned.disposeAsync();
    const wanted = options.keep === true || !(done || options.signal?.aborted);
    if (!wanted) await rm(dir, { recursive: true, force: true });
  }
}

async function playAll(stage: Stage, options: FuzzOptions): Promise<FuzzReport> {
  const { seed, minutes, quietEverySeconds } = options;
  const begun = performance.now();
  const report = emptyReport();
  const world = new World(MANAGER);
  for (const phase of schedule(seed, quietEverySeconds * 1_000)) {
    if (performance.now() - begun > minutes * 60_000) break;
    await noteSchedule(stage.dir, phase);
    const stopping = new AbortController();
    const signal = AbortSignal.any([stopping.signal, ...(options.signal ? [options.signal] : [])]);
    const playing = playPhase({ stage, phase, world, report, say: options.say, signal });
    try {
      options.say(await Promise.race([playing, stage.failed]));
    } catch (error) {
      stopping.abort();
      await Promise.allSettled([playing]);
      if (options.signal?.aborted) throw error;
      const replay = replayCommand(seed, minutes, quietEverySeconds);
      throw await failureOf(stage, phase, replay, error);
    }
  }
  return report;
}

interface PhaseRun {
  readonly stage: Stage;
  readonly phase: Phase;
  readonly world: World;
  readonly report: FuzzReport;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Gives one line about it. */
async function playPhase(run: PhaseRun): Promise<string> {
  const { stage, phase, world, report, say, signal } = run;
  const played = await play(stage, phase, signal);
  const right = await untilRight(stage, say, signal);
  const checked = await checkHistory(stage, world, played, right);
  const { counts, faults } = played;
  report.quietPoints += 1;
  report.changes += counts.done;
  report.faults += faults;
  report.slowestMs = Math.max(report.slowestMs, right.tookMs);
  report.watched += checked.watched;
  report.states += checked.states;
  report.writes += checked.writes;
  report.overlapsExcused += checked.overlapsExcused;
  report.refused.push(...counts.refused);
  return (
    `phase ${phase.index}: ${counts.done} changes, ${faults} faults; right ${right.tookMs} ms after; ` +
    `${checked.watched} endpoints never missed in ${checked.states} states, ` +
    `${checked.writes} writes in order`
  );
}

function emptyReport(): FuzzReport {
  return {
    quietPoints: 0,
    changes: 0,
    faults: 0,
    slowestMs: 0,
    watched: 0,
    states: 0,
    writes: 0,
    overlapsExcused: 0,
    refused: [],
  };
}
