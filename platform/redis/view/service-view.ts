import type { Redis } from 'ioredis';
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

/** Decoded records are remembered by their text: a Service of thousands of workloads decodes one. */
const workloadOf = memoize(decodeWorkload, 20_000);
const sliceOf = memoize(decodeSlice, 2_000);

export interface ServiceViewOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** The identity that watchers fill now. */
  readonly identity: () => string;
}

export function createServiceView({ redis, prefix, identity }: ServiceViewOptions): ServiceView {
  const base = (namespace: string): string => viewBase({ prefix, identity: identity() }, namespace);
  const lock = (key: ObjectKey): string => lockKey(prefix, key.namespace, key.name);
  return {
    acquire: async (key, token, ttlMs, read) => {
      const mode = read ? 'read' : 'lock';
      const args = [token, ttlMs, base(key.namespace), key.name, mode];
      return readAcquired((await runScript(redis, acquireAndRead, [lock(key)], args)) as Reply);
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
        ...written.flatMap(writtenArguments),
        ...deleted.flatMap(({ name, rv, uid }) => [name, rv, uid, '', '']),
      ];
      const reply = await runScript(redis, finishRun, [lock(key)], args);
      const [held, failuresBefore, failures] = reply as [number, number, number];
      return { held: held === 1, failuresBefore, failures };
    },
    presence: async (namespace, objects) => {
      const carrier = pendingKey({ prefix, identity: identity() }, namespace);
      const args = [base(namespace), ...objects.flatMap((o) => [o.kind, o.name, o.uid])];
      return (await runScript(redis, whyAbsent, [carrier], args)) as Presence[];
    },
  };
}

type Reply = readonly [
  held: number,
  inSync: number,
  service?: string,
  tombstone?: number,
  slices?: readonly string[],
  workloads?: readonly string[],
];

function readAcquired([held, second, service, tombstone, slices, workloads]: Reply): Acquired {
  if (held === 0) return { held: false, freeInMs: Math.max(0, second) };
  if (second === 0) return { held: true, world: null };
  return {
    held: true,
    world: {
      service: service ? decodeService(service) : null,
      serviceDeleted: tombstone === 1,
      slices: (slices ?? []).map(sliceOf),
      workloads: (workloads ?? []).map(workloadOf),
    },
  };
}

function writtenArguments(slice: SliceRecord): string[] {
  const { name, rv, uid, index, body } = encodeSlice(slice);
  return [name, rv, uid, index, body];
}
