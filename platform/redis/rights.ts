import type { Redis } from 'ioredis';
import { changesChannel, registryChannel } from './clusters/keys.ts';
import { isCluster, masterOf, type RedisClient } from './client.ts';
import { isReply } from './reply-error.ts';
import { loadScript, runScript } from './scripts.ts';

/*
 * What the user of an ACL must be allowed to do is tried, each command once, on keys that are not there:
 * to ask the server for somebody's rights (ACL GETUSER, ACL DRYRUN) is a right of its own, and a
 * dangerous one.
 */

const probe = loadScript('probe-rights');

/** Of a Cluster, so many names are tried to find a key that a master has. */
const NAMES = 1000;

/**
 * What the client's user may not do, for people: commands, patterns of keys, channels; '' when nothing is
 * missing. Of a Cluster each master is asked: its users are its own.
 */
export async function missingRights(client: RedisClient, prefix: string): Promise<string> {
  const missing = new Set<string>();
  for (const [key, pattern] of keysToTry(client, prefix)) {
    for (const right of await missingFor(client, key, pattern, prefix)) missing.add(right);
  }
  for (const right of await missingChannels(client, prefix)) missing.add(right);
  return [...missing].join(', ');
}

/** A key of each pattern; of a Cluster one that each master has. */
function keysToTry(client: RedisClient, prefix: string): readonly (readonly [string, string])[] {
  const own = [`{${prefix}}:probe`, `{${prefix}}:*`] as const;
  const ofNamespaces = `{${prefix}:*`;
  if (!isCluster(client)) return [own, [`{${prefix}:probe}:probe`, ofNamespaces]];
  const found = new Map<Redis, string>();
  for (let at = 0; at < NAMES; at += 1) {
    const key = `{${prefix}:probe-${at}}:probe`;
    const master = masterOf(client, key);
    if (master !== undefined && !found.has(master)) found.set(master, key);
  }
  return [own, ...[...found.values()].map((key) => [key, ofNamespaces] as const)];
}

async function missingFor(
  client: RedisClient,
  key: string,
  pattern: string,
  prefix: string,
): Promise<string[]> {
  try {
    const channel = registryChannel(prefix);
    const denied = (await runScript(client, probe, [key], [channel])) as string[];
    const rights = denied.map((what) => (what === '&' ? channelsOf(prefix) : what));
    return [...rights, ...(await missingDirect(client, key, pattern))];
  } catch (error) {
    // The script itself.
    return deniedBy(error, pattern);
  }
}

/** Of the commands that no script may use: in a transaction, where a blocking command does not wait. */
async function missingDirect(client: RedisClient, key: string, pattern: string): Promise<string[]> {
  try {
    await client.multi().bzpopmin(key, 1).xread('STREAMS', key, '0').exec();
    return [];
  } catch (error) {
    const { previousErrors = [error] } = error as { readonly previousErrors?: unknown[] };
    return previousErrors.flatMap((one) => deniedBy(one, pattern));
  }
}

/** By a connection of its own: one that has subscribed may be good for nothing else. */
async function missingChannels(client: RedisClient, prefix: string): Promise<string[]> {
  const [node] = isCluster(client) ? client.nodes('master') : [client];
  if (node === undefined) return [];
  const listener = node.duplicate({ enableOfflineQueue: true, retryStrategy: null });
  listener.on('error', () => undefined);
  try {
    await listener.subscribe(registryChannel(prefix), changesChannel(prefix));
    return [];
  } catch (error) {
    return deniedBy(error, channelsOf(prefix), 'channel');
  } finally {
    listener.disconnect();
  }
}

function channelsOf(prefix: string): string {
  return `the channels {${prefix}}:*`;
}

/**
 * None where the server says no for a reason that is not this user's, such as a full disk (MISCONF), or
 * replicas that are away (NOREPLICAS): a role is to start all the same, and to tell that.
 *
 * @throws whatever is no answer of the server.
 */
function deniedBy(error: unknown, pattern: string, of: 'key' | 'channel' = 'key'): string[] {
  if (!isReply(error)) throw error;
  if (!/NOPERM|unknown command/i.test(error.message)) return [];
  const [, command] = /'([^']+)'/.exec(error.message) ?? [];
  if (command !== undefined) return [command.toLowerCase()];
  return [of === 'key' ? `the keys ${pattern}` : pattern];
}
