import { randomUUID } from 'node:crypto';
import {
  encodeRemoteService,
  encodeRemoteSlice,
  encodeRemoteWorkload,
  type EncodedRemote,
} from '../../../core/remote-codec.ts';
import type { RemoteKind } from '../../../core/remote-records.ts';
import {
  createClusterViewWriter,
  type ClusterViewWriter,
  type RemoteChange,
} from '../../../platform/redis/clusters/cluster-view-writer.ts';
import {
  changesChannel,
  clusterViewBase,
  servingKey,
} from '../../../platform/redis/clusters/keys.ts';
import { createClusterPurger, type ClusterPurger } from '../../../platform/redis/clusters/purge.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { deleteInstall, keysOf, openRedis } from '../../support/redis.ts';

export const CLUSTER = 'east';
const PUBLISH = `return redis.call('PUBLISH', ARGV[1], ARGV[2])`;

/** Views of one linked cluster on the shared Redis, under a prefix of their own. */
export interface ClusterFixture {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly purger: ClusterPurger;
  writer(generation: number, maxObjects?: number): ClusterViewWriter;
  /** An open, synced and promoted generation. */
  serving(generation: number): Promise<ClusterViewWriter>;
  /** Fields and texts of one kind. */
  records(generation: number, kind: RemoteKind): Promise<Record<string, string>>;
  /** Keys of a Service's slices. */
  slicesOf(generation: number, service: string): Promise<string[]>;
  /** What was published so far, once a message sent now has come through. */
  told(): Promise<unknown[]>;
  /** All keys of this prefix. */
  keys(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openClusterFixture(): Promise<ClusterFixture> {
  const redis = openRedis();
  const subscriber = openRedis();
  const prefix = `t-${randomUUID()}`;
  const purger = createClusterPurger(redis, prefix);
  const messages: unknown[] = [];
  subscriber.on('message', (_channel: string, text: string) => messages.push(JSON.parse(text)));
  await subscriber.subscribe(changesChannel(prefix));
  const writer = (generation: number, maxObjects = 1_000): ClusterViewWriter =>
    createClusterViewWriter(redis, { prefix, cluster: CLUSTER, generation, maxObjects });
  const base = (generation: number): string => clusterViewBase(prefix, CLUSTER, generation);
  const keys = (): Promise<string[]> => keysOf(redis, `{${prefix}*`);
  return {
    redis,
    prefix,
    purger,
    writer,
    keys,
    serving: async (generation) => {
      const view = writer(generation);
      await view.open();
      for (const kind of ['service', 'slice', 'workload'] as const)
        await view.markSynced(kind, '1');
      await view.promote();
      return view;
    },
    records: (generation, kind) => redis.hgetall(`${base(generation)}${kind}`),
    slicesOf: async (generation, service) =>
      (await redis.smembers(`${base(generation)}of:${service}`)).toSorted(),
    told: async () => {
      const mark = randomUUID();
      const channel = changesChannel(prefix);
      // By the master that told the changes: of two masters neither's messages come first.
      await redis.eval(PUBLISH, 1, servingKey(prefix, CLUSTER), channel, JSON.stringify(mark));
      await eventually(() => {
        if (!messages.includes(mark)) throw new Error('the mark has not come through');
      });
      const told = messages.filter((message) => typeof message !== 'string');
      messages.length = 0;
      return told;
    },
    close: async () => {
      await deleteInstall(redis, prefix);
      subscriber.disconnect();
      redis.disconnect();
    },
  };
}

export const aService = (key: string, rv: string, port = 80): RemoteChange =>
  upsert(
    'service',
    encodeRemoteService({
      key,
      uid: `u-${key}`,
      rv,
      type: 'ClusterIP',
      headless: false,
      ports: [{ name: 'http', port, protocol: 'TCP' }],
    }),
  );

export const aSlice = (key: string, rv: string, service: string, ip = '10.1.0.5'): RemoteChange =>
  upsert(
    'slice',
    encodeRemoteSlice({
      key,
      uid: `u-${key}`,
      rv,
      service,
      addressType: 'IPv4',
      ports: [],
      endpoints: [{ addresses: [ip], ready: true, serving: true, terminating: false }],
    }),
  );

export const aWorkload = (key: string, rv: string, identity = 'spiffe://a'): RemoteChange =>
  upsert('workload', encodeRemoteWorkload({ key, uid: `u-${key}`, rv, identity }));

export const gone = (kind: RemoteKind, key: string, rv: string): RemoteChange => ({
  op: 'remove',
  kind,
  key,
  rv,
});

function upsert(kind: RemoteKind, object: EncodedRemote): RemoteChange {
  return { op: 'upsert', kind, object };
}
