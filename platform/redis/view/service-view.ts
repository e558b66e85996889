import type { RedisClient } from '../client.ts';
import { KEY_BACKOFF } from '../../../core/backoff.ts';
import {
  decodeService,
  decodeSlice,
  decodeWorkload,
  encodeSlice,
  type Kind,
} from '../../../core/codec.ts';
import { memoize } from '../../../core/memo.ts';
import type { ObjectKey } from '../../../core/object-key.ts';
import type { ServiceRecord, SliceRecord, WorkloadRecord } from '../../../core/records.ts';
import { loadScript, runScript } from '../scripts.ts';
import { failuresKey, lockKey, pendingKey, TOMBSTONE_TTL_MS, viewBase } from './keys.ts';
import {
  bringUpToDate,
  byName,
  createWorldMemory,
  type RememberedWorld,
  type WorldMemory,
} from './world-memory.ts';

/** All that a Service's reconcile needs to know. */
export interface World {
  readonly service: ServiceRecord | null;
  /** True when the Service is absent and the view knows that it was deleted. */
  readonly serviceDeleted: boolean;
  readonly workloads: readonly WorkloadRecord[];
  readonly slices: readonly SliceRecord[];
}

export type Acquired =
  | { readonly held: false; readonly freeInMs: number }
  /** `world` is null when it was not asked for, or the view is not in sync: read live instead. */
  | { readonly held: true; readonly world: World | null };

export type Verdict = 'ok' | 'failed' | 'neutral';

export interface Finished {
  /** False when the lock had gone to somebody else: nothing was recorded. */
  readonly held: boolean;
  readonly failuresBefore: number;
  readonly failures: number;
}

export type Presence = 'known' | 'deleted' | 'unknown';

/** The view and the lock as one run of a function uses them. */
export interface ServiceView {
  /** One round trip: the lock of the key and, where it was free and `read` is set, the world. */
  acquire(key: ObjectKey, token: string, ttlMs: number, read: boolean): Promise<Acquired>;
  /** False once the lock is somebody else's. */
  renew(key: ObjectKey, token: string, ttlMs: number): Promise<boolean>;
  /** One round trip: records what was written, settles the failure count, gives the lock back. */
  finish(
    key: ObjectKey,
    token: string,
    verdict: Verdict,
    written: readonly SliceRecord[],
    deleted: readonly SliceRecord[],
  ): Promise<Finished>;
  /**
   * A write got no answer: it may have been made, and the view does not show it before its echo comes. Who
   * takes the key within the next two seconds reads live. To be called while the lock is held.
   */
  doubt(key: ObjectKey): Promise<void>;
  /** Whether the view knows that these objects are gone, or merely does not know them. */
  presence(
    namespace: string,
    objects: readonly { readonly kind: Kind; readonly name: string; readonly uid: string }[],
  ): Promise<Presence[]>;
}

const acquireAndRead = loadScript('acquire-and-read');
const renewLock = loadScript('renew-lock');
const finishRun = loadScript('finish');
const whyAbsent = loadScript('why-absent');

/** Decoded records are remembered by their text: most of what is read was read before. */
const workloadOf = memoize(decodeWorkload, 20_000);
const sliceOf = memoize(decodeSlice, 2_000);
/** Echoes are judged 150 ms after they came; the rest is for a watch that is slow or comes back, ms. */
const DOUBT_MS = 2_000;
/** Workloads of large Services that a process remembers from run to run. */
const MEMORY_LIMIT = 50_000;

export interface ServiceViewOptions {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** The identity that watchers fill now. */
  readonly identity: () => string;
}

export function createServiceView({ redis, prefix, identity }: ServiceViewOptions): ServiceView {
  const base = (namespace: string): string => viewBase({ prefix, identity: identity() }, namespace);
  const lock = (key: ObjectKey): string => lockKey(prefix, key.namespace, key.name);
  const memory = createWorldMemory(MEMORY_LIMIT);
  return {
    acquire: async (key, token, ttlMs, read) => {
      const place = base(key.namespace);
      const known = memory.get(place + key.name);
      const has = [known?.service.rv ?? '', known?.entry ?? ''];
      const args = [token, ttlMs, place, key.name, read ? 'read' : 'lock', ...has];
      const reply = (await runScript(redis, acquireAndRead, [lock(key)], args)) as Reply;
      return readAcquired(reply, memory, { at: place + key.name, known });
    },
    renew: async (key, token, ttlMs) =>
      (await runScript(redis, renewLock, [lock(key)], [token, ttlMs])) === 1,
    finish: async (key, token, verdict, written, deleted) => {
      const args = [
        token,
        base(key.namespace),
        failuresKey(prefix, key.namespace),
        key.name,
        verdict,
        TOMBSTONE_TTL_MS,
        KEY_BACKOFF.baseMs,
        KEY_BACKOFF.capMs,
        ...written.flatMap(writtenArguments),
        ...deleted.flatMap(({ name, rv, uid }) => [name, rv, uid, '', '']),
      ];
      const reply = await runScript(redis, finishRun, [lock(key)], args);
      const [held, failuresBefore, failures] = reply as [number, number, number];
      return { held: held === 1, failuresBefore, failures };
    },
    doubt: (key) => noteDoubt(redis, `${base(key.namespace)}doubt:${key.name}`),
    presence: async (namespace, objects) => {
      const carrier = pendingKey({ prefix, identity: identity() }, namespace);
      const args = [base(namespace), ...objects.flatMap((o) => [o.kind, o.name, o.uid])];
      return (await runScript(redis, whyAbsent, [carrier], args)) as Presence[];
    },
  };
}

async function noteDoubt(redis: RedisClient, at: string): Promise<void> {
  await redis.set(at, '1', 'PX', DOUBT_MS);
}

type Reply =
  readonly [held: 0, freeInMs: number] | readonly [held: 1, notRead: 0] | WholeReply | ChangesReply;

type WholeReply = readonly [
  held: 1,
  whole: 1,
  service: string,
  deadUid: string,
  slices: readonly string[],
  workloads: readonly string[],
  entry?: string,
];

type ChangesReply = readonly [
  held: 1,
  changes: 2,
  entry: string,
  slices: readonly string[],
  slicesGone: readonly string[],
  workloads: readonly string[],
  workloadsGone: readonly string[],
];

/** Where the memory keeps a Service, and what it had when the question was sent. */
interface Place {
  readonly at: string;
  readonly known: RememberedWorld | undefined;
}

function readAcquired(reply: Reply, memory: WorldMemory, { at, known }: Place): Acquired {
  if (reply[0] === 0) return { held: false, freeInMs: Math.max(0, reply[1]) };
  if (reply[1] === 0) return { held: true, world: null };
  if (reply[1] === 1) return { held: true, world: readWhole(reply, memory, at) };
  // Changes come only to whoever said what it has.
  if (known === undefined) return { held: true, world: null };
  const world = readChanges(reply, known);
  memory.put(at, world);
  return { held: true, world: asWorld(world) };
}

function readWhole(reply: WholeReply, memory: WorldMemory, at: string): World {
  const [, , serviceText, deadUid, sliceTexts, workloadTexts, entry = ''] = reply;
  const service = serviceText === '' ? null : decodeService(serviceText);
  const slices = sliceTexts.map(sliceOf);
  const workloads = workloadTexts.map(workloadOf);
  if (service === null || entry === '') memory.forget(at);
  else memory.put(at, { entry, service, slices: byName(slices), workloads: byName(workloads) });
  return { service, serviceDeleted: isKnownDeleted(deadUid, slices), slices, workloads };
}

/** Slices of another UID are of a later Service of that name, which the view merely does not know. */
function isKnownDeleted(deadUid: string, slices: readonly SliceRecord[]): boolean {
  const ofTheDead = (slice: SliceRecord): boolean =>
    slice.owners.some(({ uid }) => uid === deadUid);
  return deadUid !== '' && slices.every(ofTheDead);
}

function readChanges(reply: ChangesReply, before: RememberedWorld): RememberedWorld {
  const [, , entry, slices, slicesGone, workloads, workloadsGone] = reply;
  return bringUpToDate(
    before,
    entry,
    { there: slices.map(sliceOf), gone: slicesGone },
    { there: workloads.map(workloadOf), gone: workloadsGone },
  );
}

function asWorld({ service, slices, workloads }: RememberedWorld): World {
  return {
    service,
    serviceDeleted: false,
    slices: [...slices.values()],
    workloads: [...workloads.values()],
  };
}

function writtenArguments(slice: SliceRecord): string[] {
  const { name, rv, uid, index, body } = encodeSlice(slice);
  return [name, rv, uid, index, body];
}
