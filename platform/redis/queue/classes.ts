import type { DeduplicationOptions, JobsOptions } from 'bullmq';
import { formatKey, type ObjectKey } from '../../../core/object-key.ts';

/**
 * Who waits for a job (docs/queue.md, guarantee 6):
 * - `on-demand`: a person, or a script that added it in the plain way. First in line, each its own run.
 * - `event`: something changed. One run for all adds of a key that is waiting.
 * - `resync`: nothing is known to have changed. Last in line, apart from the key's events: with one
 *   class an event for a key that waits as resync would keep that place.
 */
export type JobClass = 'on-demand' | 'event' | 'resync';

/*
 * BullMQ serves jobs without a priority before all others, and then the lowest number first. So any
 * plain add is first in line, a script's too. The gaps leave room on either side.
 */
const EVENT_PRIORITY = 100;
export const RESYNC_PRIORITY = 1000;

const RESYNC = 'resync/';

/** How an event of a key is added. */
export function eventOptions(key: ObjectKey): JobsOptions {
  return { priority: EVENT_PRIORITY, deduplication: deduplication(formatKey(key)) };
}

/** How a resync of a key is added. */
export function resyncOptions(key: ObjectKey): JobsOptions {
  return { priority: RESYNC_PRIORITY, deduplication: deduplication(RESYNC + formatKey(key)) };
}

/**
 * While the job with this id waits, an add is part of it. While it runs, the add is kept and becomes
 * one job afterwards (keepLastIfActive). While it backs off, the add makes it run now (reschedule).
 */
function deduplication(id: string): DeduplicationOptions {
  return { id, keepLastIfActive: true, reschedule: true };
}

/**
 * The class of a job, from its de-duplication id. An event of namespace `resync` has one slash less
 * than a resync.
 */
export function classOf(deduplicationId: string | undefined): JobClass {
  if (deduplicationId === undefined) return 'on-demand';
  const resync = deduplicationId.startsWith(RESYNC) && deduplicationId.includes('/', RESYNC.length);
  return resync ? 'resync' : 'event';
}
