import type { RedisAddress } from '../address.ts';
import { connectListener } from '../connect.ts';
import type { Logger } from '../../../core/logger.ts';
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
  const begin = async (): Promise<void> => {
    await redis.subscribe(changes, registryChannel(prefix));
    listening = true;
    // Not before: what changed while nobody listened is in the view by now.
    listener.missed();
  };
  redis.on('ready', () => void begin().catch(() => redis.disconnect(true)));
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
    await redis.ping().catch(() => redis.disconnect(true));
    probing = false;
  };
  const timer = setInterval(() => void probe(), PROBE_MS);
  return {
    listening: () => listening,
    close: () => {
      clearInterval(timer);
      listening = false;
      redis.disconnect();
    },
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
