import type { ApiObject } from '../../core/api-objects.ts';
import {
  projectRemoteService,
  projectRemoteSlice,
  projectRemoteWorkload,
  remoteIdentity,
} from '../../core/project-remote.ts';
import {
  encodeRemoteService,
  encodeRemoteSlice,
  encodeRemoteWorkload,
  type EncodedRemote,
} from '../../core/remote-codec.ts';
import type { RemoteKind } from '../../core/remote-records.ts';
import type { RemoteChange } from '../../platform/redis/clusters/cluster-view-writer.ts';

export interface RemoteChangeOptions {
  /** Whether EndpointSlices of host names belong into the view. */
  readonly allowFqdn: boolean;
}

/** The object as the view keeps it; null when it does not belong there. */
function encode(
  kind: RemoteKind,
  object: ApiObject,
  options: RemoteChangeOptions,
): EncodedRemote | null {
  if (kind === 'service') return orNull(projectRemoteService(object), encodeRemoteService);
  if (kind === 'workload') return orNull(projectRemoteWorkload(object), encodeRemoteWorkload);
  return orNull(projectRemoteSlice(object, options), encodeRemoteSlice);
}

function orNull<T>(record: T | null, then: (record: T) => EncodedRemote): EncodedRemote | null {
  return record === null ? null : then(record);
}

/** The object is there, as a list shows it; null when it does not belong into the view. */
export function listedOf(
  kind: RemoteKind,
  object: ApiObject,
  options: RemoteChangeOptions,
): (RemoteChange & { readonly op: 'upsert' }) | null {
  const encoded = encode(kind, object, options);
  return encoded === null ? null : { op: 'upsert', kind, object: encoded };
}

/** What an event says. An object that does not belong into the view (any more) leaves it. */
export function changeOf(
  type: 'ADDED' | 'MODIFIED' | 'DELETED',
  kind: RemoteKind,
  object: ApiObject,
  options: RemoteChangeOptions,
): RemoteChange | null {
  const listed = type === 'DELETED' ? null : listedOf(kind, object, options);
  if (listed !== null) return listed;
  const identity = remoteIdentity(object);
  return identity === null ? null : { op: 'remove', kind, key: identity.key, rv: identity.rv };
}

/** One text for each object: of several changes of one the last counts. */
export function remoteChangeId(change: RemoteChange): string {
  return `${change.kind} ${change.op === 'upsert' ? change.object.key : change.key}`;
}

export function versionOf(change: RemoteChange): string {
  return change.op === 'upsert' ? change.object.rv : change.rv;
}

/** Roughly how many bytes a change is on its way to Redis. */
export function bytesOf(change: RemoteChange): number {
  return change.op === 'upsert' ? change.object.body.length + 200 : 200;
}
