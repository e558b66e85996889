import { InvalidInputError } from './errors.ts';
import { formatKey, parseKey, type ObjectKey } from './object-key.ts';
import { QUOTED, quote } from './quote.ts';

/*
 * The queue as a public contract (docs/queue.md): anyone with a BullMQ client may add a job named
 * `reconcile`, with data `{ key, reason?, at?, trace? }`, to one of these queues under the prefix
 * `{<redis prefix>}`. The braces are a Redis Cluster hash tag: a queue lives on one slot.
 */
export type QueueName = 'service' | 'cluster';
export const QUEUE_NAMES: readonly QueueName[] = ['service', 'cluster'];
export const JOB_NAME = 'reconcile';
const DEFAULT_REDIS_PREFIX = 'tether';

/** What BullMQ calls `prefix`, for an install whose Redis prefix is `prefix`. */
export function queuePrefix(prefix: string = DEFAULT_REDIS_PREFIX): string {
  return `{${prefix}}`;
}

/** A job, checked: look at this key, and make the world true. */
export interface ReconcileJob {
  readonly key: ObjectKey;
  /** Why it was added, for logs: at most 1,000 characters. */
  readonly reason?: string;
  /** When the change was seen, in ms since 1970; drives the end-to-end latency metric. */
  readonly at?: number;
  /** W3C `traceparent` of the step that added it, where traces are on (docs/traces.md). */
  readonly trace?: string;
}

/** A job's data as it is stored. */
export interface JobData {
  readonly key: string;
  readonly reason?: string;
  readonly at?: number;
  readonly trace?: string;
}

export const MAX_REASON_LENGTH = 1000;
/** A namespace (63), a slash and a name (253). */
const MAX_KEY_LENGTH = 317;
/** Version 00 of https://www.w3.org/TR/trace-context/#traceparent-header: 55 characters, no all-zero id. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** The last moment that a JavaScript Date can hold. */
const MAX_TIME_MS = 8.64e15;
const FIELDS: ReadonlySet<string> = new Set<keyof JobData>(['key', 'reason', 'at', 'trace']);

/**
 * Checks what was read from the queue. Anyone may have put it there, so nothing about it is taken
 * for granted: a field that is not in the contract is refused too, because it is most likely a
 * misspelt one, or an object that has no business in Redis.
 *
 * By hand instead of with zod: 0.19 µs against 0.25, for every job, and no import (46-85 ms) on the
 * start path.
 *
 * @throws InvalidInputError that names the field, and quotes at most 80 characters of the job.
 */
export function parseJob(name: string, data: unknown): ReconcileJob {
  if (name !== JOB_NAME) {
    throw new InvalidInputError(
      'name',
      `the job is named ${quote(name)}: it must be "${JOB_NAME}"`,
    );
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new InvalidInputError('data', `data must be an object with a key, not ${kindOf(data)}`);
  }
  refuseUnknownFields(data);
  const { key, reason, at, trace } = data as Partial<Record<keyof JobData, unknown>>;
  return {
    key: checkKey(key),
    ...(reason === undefined ? {} : { reason: checkReason(reason) }),
    ...(at === undefined ? {} : { at: checkTime(at) }),
    ...(trace === undefined ? {} : { trace: checkTrace(trace) }),
  };
}

/**
 * Makes a job's data, checked as the other side will check it.
 *
 * @throws InvalidInputError that names the field.
 */
export function jobData(job: ReconcileJob): JobData {
  const data: JobData = { ...job, key: formatKey(job.key) };
  parseJob(JOB_NAME, data);
  return data;
}

function refuseUnknownFields(data: object): void {
  for (const field in data) {
    if (FIELDS.has(field)) continue;
    throw new InvalidInputError(
      field.slice(0, QUOTED),
      `data has an unknown field ${quote(field)}: only key, reason, at and trace belong in a job`,
    );
  }
}

function checkKey(key: unknown): ObjectKey {
  if (key === undefined) {
    throw new InvalidInputError('key', 'key is missing: write it as NAMESPACE/NAME');
  }
  if (typeof key !== 'string') {
    throw new InvalidInputError('key', `key must be text, NAMESPACE/NAME, not ${kindOf(key)}`);
  }
  if (key.length > MAX_KEY_LENGTH) {
    throw new InvalidInputError(
      'key',
      `key ${quote(key)} has ${key.length} characters: at most ${MAX_KEY_LENGTH} are possible`,
    );
  }
  return parseKey(key);
}

function checkReason(reason: unknown): string {
  if (typeof reason !== 'string') {
    throw new InvalidInputError('reason', `reason must be text, not ${kindOf(reason)}`);
  }
  if (reason.length > MAX_REASON_LENGTH) {
    throw new InvalidInputError(
      'reason',
      `reason has ${reason.length} characters: at most ${MAX_REASON_LENGTH} are allowed`,
    );
  }
  return reason;
}

function checkTime(at: unknown): number {
  if (typeof at === 'number' && at >= 0 && at <= MAX_TIME_MS) return at;
  const what = typeof at === 'number' ? String(at) : kindOf(at);
  throw new InvalidInputError('at', `at must be a time in ms since 1970, not ${what}`);
}

function checkTrace(trace: unknown): string {
  if (typeof trace === 'string' && TRACEPARENT.test(trace)) return trace;
  throw new InvalidInputError('trace', `trace must be a W3C traceparent, not ${kindOf(trace)}`);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? quote(value) : `a ${typeof value}`;
}
