import type { Redis } from 'ioredis';
import { backoffMs } from '../../../core/backoff.ts';
import type { Logger } from '../../../core/logger.ts';
import type { RedisAddress } from '../address.ts';
import { connectListener } from '../connect.ts';
import { isReply } from '../reply-error.ts';
import { changesChannel, registryChannel } from './keys.ts';

/** One message of `changesChannel`. */
export type ViewChange =
  | {
      readonly what: 'some';
      readonly cluster: string;
      readonly generation: number;
      /** Keys of Services that changed, or whose slices did. */
      readonly services: readonly string[];
      /** Keys of ExternalWorkloads. */
      readonly workloads: readonly string[];
    }
  /** Anything may have changed: a large batch, or another generation serves. */
  | { readonly what: 'all'; readonly cluster: string; readonly generation: number }
  /** The cluster's Secret went, and its view is being purged. */
  | { readonly what: 'gone'; readonly cluster: string };

export interface ChangeFeedListener {
  changed(change: ViewChange): void;
  /** A decision or a watch of the registry changed. */
  registryChanged(): void;
  /** Messages may have been missed: everything counts as changed. Also once at the start. */
  missed(): void;
}

export interface ChangeFeed {
  /** False while changes may go by unheard. */
  listening(): boolean;
  close(): void;
}

/** A connection whose other end is gone without a word is noticed within this and a command's time. */
const PROBE_MS = 1_000;
/** A subscription that the server refuses is tried again so late: an operator has to grant it. */
const AGAIN = { baseMs: 1_000, capMs: 30_000 } as const;
/** … and is told about so often at most, ms. */
const COMPLAIN_EVERY_MS = 10_000;

/** Listens to what changes in the views of linked clusters, on a connection of its own, for ever. */
export function openChangeFeed(
  redisUrl: RedisAddress,
  prefix: string,
  listener: ChangeFeedListener,
  log: Logger,
): ChangeFeed {
  const changes = changesChannel(prefix);
  const redis = connectListener(redisUrl, 'producer', { log });
  let listening = false;
  let probing = false;
  const onListening = (): void => {
    listening = true;
    // Not before: what changed while nobody listened is in the view by now.
    listener.missed();
  };
  const ending = keepSubscribed(redis, [changes, registryChannel(prefix)], onListening, log);
  redis.on('close', () => (listening = false));
  redis.on('message', (channel: string, text: string) => {
    if (channel !== changes) return listener.registryChanged();
    const change = parseChange(text);
    if (change === null) log.warn({ channel }, 'a message that is none of ours was left out');
    else listener.changed(change);
  });
  const probe = async (): Promise<void> => {
    if (!listening || probing) return;
    probing = true;
    if (!(await answers(redis))) redis.disconnect(true);
    probing = false;
  };
  const timer = setInterval(() => void probe(), PROBE_MS);
  return {
    listening: () => listening,
    close: () => {
      clearInterval(timer);
      ending();
      listening = false;
      redis.disconnect();
    },
  };
}

/** What the server says is an answer, also that it cannot save (MISCONF). */
async function answers(redis: Redis): Promise<boolean> {
  try {
    await redis.ping();
    return true;
  } catch (error) {
    return isReply(error);
  }
}

/**
 * Subscribes whenever the connection is there. One on which that fails is made anew; where the server
 * refuses it, as to a user without a right to the channels, it is told and tried again. Gives what ends it.
 */
function keepSubscribed(
  redis: Redis,
  channels: readonly string[],
  onListening: () => void,
  log: Logger,
): () => void {
  let refusals = 0;
  let complainedAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  const refused = ({ message }: Error): void => {
    refusals += 1;
    timer = setTimeout(begin, backoffMs(refusals, AGAIN, Math.random));
    if (performance.now() - complainedAt < COMPLAIN_EVERY_MS) return;
    complainedAt = performance.now();
    const remedy = 'give its user the channels that docs/redis.md tells under "Rights"';
    log.error({ channels }, `Redis refuses the subscription to changes (${message}): ${remedy}`);
  };
  const subscribe = async (): Promise<void> => {
    await redis.subscribe(...channels);
    refusals = 0;
    complainedAt = -Infinity;
    onListening();
  };
  const begin = (): void => {
    clearTimeout(timer);
    // Otherwise it is begun once the connection is there.
    if (ended || redis.status !== 'ready') return;
    subscribe().catch((error: unknown) => {
      if (ended) return;
      if (isReply(error)) refused(error);
      else redis.disconnect(true);
    });
  };
  redis.on('ready', begin);
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** Null for what is no such message: anybody may write to a channel. */
function parseChange(text: string): ViewChange | null {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(message)) return null;
  const [cluster, generation, services, workloads] = message as unknown[];
  if (typeof cluster !== 'string' || typeof generation !== 'number') return null;
  if (services === 'gone') return { what: 'gone', cluster };
  if (services === 'all') return { what: 'all', cluster, generation };
  if (!Array.isArray(services) || !Array.isArray(workloads)) return null;
  const texts = (list: unknown[]): string[] => list.filter((one) => typeof one === 'string');
  return {
    what: 'some',
    cluster,
    generation,
    services: texts(services),
    workloads: texts(workloads),
  };
}
