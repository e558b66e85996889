import type { ClusterState } from '../core/cluster.ts';
import { memoize } from '../core/memo.ts';
import type { EndpointSet } from './endpoint-set.ts';

/*
 * What is known of whatever somebody asks for, in the three ways that there are: it is not there, it is
 * not known yet, or here it is. Each is an answer, and each may become another one.
 */

/** Why there is no answer, as it is told: a sentence, and a word for programs. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly error: string;
}

export type RefusalCode =
  | 'BadRequest'
  | 'Unauthorized'
  | 'PathNotFound'
  | 'ClusterNotFound'
  | 'ServiceNotFound'
  | 'PortNotFound'
  | 'NotRemote'
  | 'MethodNotAllowed'
  | 'UriTooLong'
  | 'NotSynced'
  | 'TooOld'
  | 'Unavailable'
  | 'Internal';

export type Known =
  /** It does not exist, and that is certain. */
  | { readonly kind: 'absent'; readonly refusal: Refusal; readonly status: AnswerStatus | null }
  /** Nothing can be said of it yet: this is never an empty set. */
  | { readonly kind: 'unknown'; readonly refusal: Refusal; readonly status: AnswerStatus | null }
  | { readonly kind: 'set'; readonly set: EndpointSet; readonly status: AnswerStatus };

/** How good an answer is. */
export interface AnswerStatus {
  readonly state: ClusterState;
  /** '' when there is nothing to say. */
  readonly reason: string;
  readonly stale: boolean;
  /** Whether every part of the answer is known; false where a member of several is not. */
  readonly complete: boolean;
  /** When it was last known to be in sync, by Redis' clock, ms; null: never. */
  readonly syncedAt: number | null;
  /** Differs whenever anything of it but `syncedAt` does. */
  readonly tag: string;
  /** What the answer is about, as JSON without the closing brace; `now` by Redis' clock, ms. */
  head(now: number): string;
}

/** `"syncedAt":…,"ageMs":…`, with a comma in front of each; nothing while it was never in sync. */
export function ageText(syncedAt: number | null, now: number): string {
  if (syncedAt === null) return '';
  return `${syncedText(String(syncedAt))}${ageOf(syncedAt, now)}`;
}

/** ms; a clock that was read a moment apart may make it negative. */
export function ageOf(syncedAt: number, now: number): number {
  return Math.max(0, Math.round(now - syncedAt));
}

/** Each second has one for each cluster, and every answer wants it. */
const syncedText = memoize(
  (ms) => `,"syncedAt":"${new Date(Number(ms)).toISOString()}","ageMs":`,
  1_000,
);
