import { audit, sliceVersions } from './audit.ts';
import { checkContinuity } from './continuity.ts';
import { findOverlaps, type Excuse } from './overlaps.ts';
import type { Played } from './phase.ts';
import { WrongStateError, type Right } from './quiet-point.ts';
import type { Stage } from './stage.ts';
import type { World } from './world.ts';

/** What was looked through between two quiet points in which nothing was wrong. */
export interface Checked {
  /** Endpoints that had to be ready throughout. */
  readonly watched: number;
  /** States of the slices. */
  readonly states: number;
  readonly writes: number;
  readonly overlapsExcused: number;
}

/**
 * Looks at all that happened since the last quiet point.
 *
 * @param world as it was at the last quiet point; it is brought up to date.
 * @throws {WrongStateError} when a reader missed an endpoint, a member wrote what it must not, or a
 *   key had two writers at once.
 */
export async function checkHistory(
  stage: Stage,
  world: World,
  played: Played,
  right: Right,
): Promise<Checked> {
  const { etcd } = stage;
  for (const kind of ['service', 'workload', 'slice'] as const) {
    await etcd.caughtUp(kind, right.world.versions(kind));
  }
  const changes = etcd.take();
  const versions = sliceVersions(world, changes);
  const { writes, landed, wrong } = audit(stage.takeWrites(), versions, (slice) =>
    world.serviceOf(slice),
  );
  const overlaps = findOverlaps(writes, [...played.excuses, ...lostLocks(stage)]);
  const { watched, states, missed } = checkContinuity(world, changes, played.damaged);
  const faults = [
    ...missed.map((text) => `a reader missed an endpoint. ${text}`),
    ...wrong.map((text) => `a write that must not be. ${text}`),
    ...overlaps.found.map((text) => `two writers at once. ${text}`),
  ];
  if (faults.length > 0) throw new WrongStateError(faults.join('\n  '));
  return { watched, states, writes: landed, overlapsExcused: overlaps.excused };
}

/** Before and after a lost lock is told, ms: as long as it lasts, and some. */
const AROUND_MS = 3_000;

/** A machine that is busy enough takes a lock away, too; who lost one says so. */
function lostLocks({ members }: Stage): Excuse[] {
  return Object.values(members).flatMap((member) =>
    member
      .takeLog()
      .filter((line) => line.includes('the lock was lost'))
      .map((line) => {
        const at = (JSON.parse(line) as { time: number }).time - performance.timeOrigin;
        return { why: `${member.name} lost a lock`, from: at - AROUND_MS, to: at + AROUND_MS };
      }),
  );
}
