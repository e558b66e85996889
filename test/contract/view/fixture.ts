import { randomUUID } from 'node:crypto';
import {
  encodeService,
  encodeSlice,
  encodeWorkload,
  type Encoded,
  type Kind,
} from '../../../core/codec.ts';
import { LABEL_SERVICE_NAME } from '../../../core/names.ts';
import type { ServiceRecord, SliceRecord, WorkloadRecord } from '../../../core/records.ts';
import { createServiceView, type ServiceView } from '../../../platform/redis/view/service-view.ts';
import {
  createViewWriter,
  type Applied,
  type ViewWriter,
} from '../../../platform/redis/view/view-writer.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { deleteInstall, openRedis } from '../../support/redis.ts';
import { fromRun } from '../../support/run.ts';

export const NS = 'shop';

/** A view of its own on the shared Redis, as a watcher writes it and a function reads it. */
export interface ViewFixture {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly writer: ViewWriter;
  readonly view: ServiceView;
  /** Applies an upsert, gives the Services that it dirtied. */
  put(kind: Kind, object: Encoded): Promise<string[]>;
  remove(kind: Kind, name: string, rv: string, uid?: string): Promise<string[]>;
  /** Marks the namespace as in sync. */
  sync(): Promise<void>;
  /** All data of the view and the locks is gone, as after a FLUSHALL. */
  wipe(): Promise<void>;
  close(): Promise<void>;
}

export function openFixture(url = fromRun('redisUrl')): ViewFixture {
  const redis = openRedis(url);
  const prefix = `t-${randomUUID()}`;
  const keys = { prefix, identity: 'cluster-a.1' };
  const writer = createViewWriter(redis, keys, randomUUID);
  const view = createServiceView({ redis, prefix, identity: () => keys.identity });
  const wipe = (): Promise<void> => deleteInstall(redis, prefix);
  return {
    redis,
    prefix,
    writer,
    view,
    put: async (kind, object) => dirtyOf(await writer.apply(NS, [{ op: 'upsert', kind, object }])),
    remove: async (kind, name, rv, uid = '') =>
      dirtyOf(await writer.apply(NS, [{ op: 'remove', kind, name, rv, uid }])),
    sync: async () => {
      await writer.heartbeat(NS, await writer.open(NS), 60_000, ['service', 'workload', 'slice']);
    },
    wipe,
    close: async () => {
      await wipe();
      redis.disconnect();
    },
  };
}

function dirtyOf(applied: Applied): string[] {
  return applied.dirty.map(({ service }) => service).sort();
}

export function service(name: string, rv: number, over: Partial<ServiceRecord> = {}): Encoded {
  return encodeService({
    name,
    uid: `uid-${name}`,
    rv: String(rv),
    deleting: false,
    type: 'ClusterIP',
    clusterIP: '10.0.0.1',
    ipFamilies: ['IPv4'],
    selector: { app: name },
    ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
    labels: {},
    publishNotReady: false,
    zoneHints: false,
    ...over,
  });
}

export function workload(name: string, rv: number, over: Partial<WorkloadRecord> = {}): Encoded {
  return encodeWorkload({
    name,
    uid: `uid-${name}`,
    rv: String(rv),
    labels: { app: 'web' },
    ips: ['192.0.2.1'],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ready: true,
    deleting: false,
    ...over,
  });
}

export function sliceRecord(name: string, rv: number, of: string, over: Partial<SliceRecord> = {}) {
  const record: SliceRecord = {
    name,
    uid: `uid-${name}`,
    rv: String(rv),
    deleting: false,
    addressType: 'IPv4',
    labels: { [LABEL_SERVICE_NAME]: of },
    owners: [{ apiVersion: 'v1', kind: 'Service', name: of, uid: `uid-${of}`, controller: true }],
    ports: [],
    endpoints: [],
    ...over,
  };
  return record;
}

export function slice(name: string, rv: number, of: string, over: Partial<SliceRecord> = {}) {
  return encodeSlice(sliceRecord(name, rv, of, over));
}
