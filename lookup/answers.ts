import { shortHash } from '../core/hash.ts';
import type { ClusterStatus } from './clusters.ts';
import type { EndpointSet } from './endpoint-set.ts';
import { ageOf, ageText, type AnswerStatus, type Known, type Refusal } from './known.ts';

/** An answer, ready to be sent. */
export interface Answer {
  readonly status: number;
  /** The body is `head` and then `tail`. */
  readonly head: string;
  readonly tail: Tail | null;
  /** Of an answer that a client may have already. */
  readonly etag: string | null;
  readonly ageMs: number | null;
  readonly state: string;
}

/** The part of a body that many answers share. */
export interface Tail {
  readonly bytes: Buffer;
  /** The same where it is short and in ASCII: then it goes out with the rest as one text. */
  readonly text: string | null;
}

/** Statuses by the word for programs. */
const STATUS: Readonly<Record<Refusal['code'], number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  PathNotFound: 404,
  ClusterNotFound: 404,
  ServiceNotFound: 404,
  PortNotFound: 404,
  NotRemote: 404,
  MethodNotAllowed: 405,
  UriTooLong: 414,
  Internal: 500,
  NotSynced: 503,
  TooOld: 503,
  Unavailable: 503,
};

/** @param now by Redis' clock, ms. */
export function endpointsAnswer(known: Known, now: number, maxAgeMs: number | null): Answer {
  const { status } = known;
  if (maxAgeMs !== null && status !== null && known.kind !== 'unknown') {
    const refusal = tooOld(status, now, maxAgeMs);
    if (refusal !== null) return refused(refusal, status, now);
  }
  if (known.kind !== 'set') return refused(known.refusal, status, now);
  const { set } = known;
  return {
    status: 200,
    head: known.status.head(now),
    tail: tailOf(set),
    etag: `W/"${set.version}.${known.status.tag}"`,
    ageMs: known.status.syncedAt === null ? null : ageOf(known.status.syncedAt, now),
    state: known.status.state,
  };
}

/** `{ error, code }`, with what is known of the cluster in front. */
export function refused(refusal: Refusal, status: AnswerStatus | null, now: number): Answer {
  const { error, code } = refusal;
  const body = JSON.stringify({ error, code });
  const head = status === null ? body : `${status.head(now)},${body.slice(1)}`;
  const state = status?.state ?? '';
  return { status: STATUS[code], head, tail: null, etag: null, ageMs: null, state };
}

/** Null when the answer is young enough. */
export function tooOld(status: AnswerStatus, now: number, maxAgeMs: number): Refusal | null {
  const limit = `max-age=${maxAgeMs / 1000}`;
  if (!status.complete) {
    return { code: 'TooOld', error: `${limit}: not every member is known` };
  }
  if (status.syncedAt === null) {
    return { code: 'TooOld', error: `${limit}: it is not known when this was last in sync` };
  }
  const ageMs = ageOf(status.syncedAt, now);
  if (ageMs <= maxAgeMs) return null;
  return { code: 'TooOld', error: `${limit}: what is known is ${ageMs / 1000} s old` };
}

const tails = new WeakMap<EndpointSet, Tail>();
/** A longer text costs more to copy than a second piece to send. */
const SHORT = 16_384;

/** All that does not change with time, from the version on; made once for each set. */
export function tailOf(set: EndpointSet): Tail {
  const known = tails.get(set);
  if (known !== undefined) return known;
  const texts = Array.from(set.items.values(), ({ text }) => text);
  const text = `,${factsText(set)},"endpoints":[${texts.join(',')}]}`;
  const bytes = Buffer.from(text);
  const plain = bytes.length === text.length && text.length < SHORT;
  const tail = { bytes, text: plain ? text : null };
  tails.set(set, tail);
  return tail;
}

/** `"version":…,"type":…,"headless":…,"ports":…`. */
export function factsText({ version, facts }: EndpointSet): string {
  const { type, headless, ports } = facts;
  return JSON.stringify({ version, type, headless, ports }).slice(1, -1);
}

/** `GET /v1/clusters` and `/v1/clusters/{cluster}`. */
export function clustersAnswer(
  statuses: ReadonlyMap<string, ClusterStatus>,
  now: number,
  stale: boolean,
): Answer {
  const rows = [...statuses].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const texts = rows.map(([, status]) => clusterText(status, now));
  const version = versionOf(rows.map(([, status]) => status));
  const head = `{"stale":${stale},"version":"${version}","clusters":[${texts.join(',')}]}`;
  return { status: 200, head, tail: null, etag: `W/"${version}"`, ageMs: null, state: '' };
}

export function clusterAnswer(status: ClusterStatus, now: number): Answer {
  const version = versionOf([status]);
  const head = `${clusterText(status, now).slice(0, -1)},"version":"${version}"}`;
  const { syncedAt } = status.description;
  const ageMs = syncedAt === null ? null : ageOf(syncedAt, now);
  const { state } = status;
  return { status: 200, head, tail: null, etag: `W/"${version}"`, ageMs, state };
}

/** `GET /v1/clusters/{cluster}/services`. */
export function servicesAnswer(
  names: readonly string[],
  status: AnswerStatus,
  now: number,
): Answer {
  const version = shortHash(names.join('\n'), 16);
  const services = names.map((key) => {
    const slash = key.indexOf('/');
    return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
  });
  const head = `${status.head(now)},${JSON.stringify({ version, services }).slice(1)}`;
  const { state, tag, syncedAt } = status;
  const ageMs = syncedAt === null ? null : ageOf(syncedAt, now);
  return { status: 200, head, tail: null, etag: `W/"${version}.${tag}"`, ageMs, state };
}

/** Of a cluster alone, for answers about no one Service of it. */
export function clusterStatusOf(from: ClusterStatus, stale = from.stale): AnswerStatus {
  const { state, reason, tag, description } = from;
  const { cluster, syncedAt } = description;
  const about = { cluster, state, ...(reason === '' ? {} : { reason }), stale };
  const text = JSON.stringify(about).slice(0, -1);
  const head = (now: number): string => text + ageText(syncedAt, now);
  return { state, reason, stale, complete: true, syncedAt, tag: `${tag}${stale ? 's' : ''}`, head };
}

function clusterText(status: ClusterStatus, now: number): string {
  const head = clusterStatusOf(status).head(now);
  return `${head},${JSON.stringify(detailsOf(status)).slice(1)}`;
}

function detailsOf({ description, refused: others }: ClusterStatus) {
  const { answers, secret, server, trustDomain, clusterDomain } = description;
  const { expiresAt, loadedAt, since, attempts, nextTryAt, objects } = description;
  return {
    answers,
    objects,
    secret,
    ...(server === '' ? {} : { server, trustDomain, clusterDomain }),
    ...(expiresAt === null ? {} : { expiresAt: time(expiresAt) }),
    loadedAt: time(loadedAt),
    since: time(since),
    attempts,
    ...(nextTryAt === null ? {} : { nextTryAt: time(nextTryAt) }),
    ...(others.length === 0 ? {} : { refused: others }),
  };
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

function versionOf(statuses: readonly ClusterStatus[]): string {
  const facts = statuses.map((status) => [status.state, status.reason, detailsOf(status)]);
  return shortHash(JSON.stringify(facts), 16);
}
