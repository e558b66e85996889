import {
  encodeRemoteService,
  encodeRemoteSlice,
  encodeRemoteWorkload,
} from '../../core/remote-codec.ts';
import type {
  RemoteEndpoint,
  RemoteService,
  RemoteSlice,
  RemoteWorkload,
} from '../../core/remote-records.ts';
import type { RemoteChange } from '../../platform/redis/clusters/cluster-view-writer.ts';

/** Changes of linked clusters as a watcher writes them; each is newer than those before it. */

let version = 1_000;

const next = (key: string) => ({ key, uid: `u-${key}`, rv: String((version += 1)) });

/** `shop/web` with port 80 named http, unless said otherwise. */
export function aRemoteService(key: string, over: Partial<RemoteService> = {}): RemoteChange {
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' }] as const;
  const record = { ...next(key), type: 'ClusterIP', headless: false, ports, ...over };
  return { op: 'upsert', kind: 'service', object: encodeRemoteService(record) };
}

/** One slice of a Service, with port 8080 named http; an endpoint is an address, or all of it. */
export function aRemoteSlice(
  service: string,
  endpoints: readonly (string | RemoteEndpoint)[],
  over: Partial<RemoteSlice> = {},
): RemoteChange {
  const record: RemoteSlice = {
    ...next(`${service}-slice`),
    service,
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: endpoints.map((one) => (typeof one === 'string' ? readyAt(one) : one)),
    ...over,
  };
  return { op: 'upsert', kind: 'slice', object: encodeRemoteSlice(record) };
}

export function aRemoteWorkload(key: string, over: Partial<RemoteWorkload> = {}): RemoteChange {
  return {
    op: 'upsert',
    kind: 'workload',
    object: encodeRemoteWorkload({ ...next(key), ...over }),
  };
}

export function removed(kind: 'service' | 'slice' | 'workload', key: string): RemoteChange {
  return { op: 'remove', kind, key, rv: next(key).rv };
}

export function readyAt(address: string): RemoteEndpoint {
  return { addresses: [address], ready: true, serving: true, terminating: false };
}
