import type { Redis } from 'ioredis';
import { loadScript, runScript } from '../scripts.ts';
import { epochKey } from './keys.ts';

const observeList = loadScript('observe-list');

/**
 * Notes the resourceVersion of a list and gives the view's identity. A list older than one seen
 * before (etcd was restored from a backup) begins a new epoch, hence another identity.
 */
export async function observeListVersion(
  redis: Redis,
  prefix: string,
  clusterUid: string,
  kind: string,
  resourceVersion: string,
): Promise<string> {
  const key = epochKey(prefix, clusterUid);
  const epoch = await runScript(redis, observeList, [key], [kind, resourceVersion]);
  return `${clusterUid}.${String(epoch)}`;
}

/** The identity before any list was noted. */
export function firstIdentity(clusterUid: string): string {
  return `${clusterUid}.1`;
}

/** The identity that watchers fill at present; null when none has, or Redis lost its data. */
export async function currentIdentity(
  redis: Redis,
  prefix: string,
  clusterUid: string,
): Promise<string | null> {
  const epoch = await redis.hget(epochKey(prefix, clusterUid), 'epoch');
  return epoch === null ? null : `${clusterUid}.${epoch}`;
}
