import { audit, sliceVersions } from './audit.ts';
import { checkContinuity } from './continuity.ts';
import { findOverlaps } from './overlaps.ts';
import type { Played } from './phase.ts';
import { WrongStateError, type Right } from './quiet-point.ts';
import type { Stage } from './stage.ts';
import { readWorkerLog } from './worker-log.ts';
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
  const logs = Object.values(stage.members).map((one) => readWorkerLog(one.name, one.takeLog()));
  const runs = logs.flatMap((log) => log.runs);
  const excuses = [...played.excuses, ...logs.flatMap((log) => log.lostLocks)];
  const overlaps = findOverlaps(writes, runs, excuses);
  const { watched, states, missed } = checkContinuity(world, changes, played.damaged);
  const faults = [
    ...missed.map((text) => `a reader missed an endpoint. ${text}`),
    ...wrong.map((text) => `a write that must not be. ${text}`),
    ...overlaps.found.map((text) => `two writers at once. ${text}`),
    ...(landed > 0 && runs.length === 0 ? ['the logs of the workers tell of no run'] : []),
  ];
  if (faults.length > 0) throw new WrongStateError(faults.join('\n  '));
  return { watched, states, writes: landed, overlapsExcused: overlaps.excused };
}
