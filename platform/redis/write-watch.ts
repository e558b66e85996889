import { describeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { sleep } from '../process/sleep.ts';
import type { RedisClient } from './client.ts';

/** Sees whether Redis takes writes, which it may refuse while its connections are as good as ever. */
export interface WriteWatch {
  /** One sentence for a person with what to do; null while writes are taken, or nobody answers. */
  readonly refusal: string | null;
  stop(): Promise<void>;
}

export interface WriteWatchOptions {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** Of this process. */
  readonly id: string;
  readonly log: Logger;
}

const EVERY_MS = 2_000;
/** What is written goes by itself, ms. */
const TTL_MS = 10_000;
/** What Redis says when it refuses to write, and what to do about it. */
const REMEDIES: readonly (readonly [code: string, remedy: string])[] = [
  ['MISCONF', 'it cannot save what it takes: make room on its disk, and look at its log'],
  ['OOM', 'its memory is full: raise its maxmemory, or take other data out of it'],
  ['READONLY', 'it is a replica by now: it goes on once the connection finds the primary'],
  [
    'NOREPLICAS',
    'too few of its replicas are there: bring them back, or set min-replicas-to-write',
  ],
];

/**
 * Writes a word every two seconds. A Redis that refuses writes (full disk, full memory) stops all work, and
 * all that runs into it says so in its own way; this says it once, and once when it is over.
 */
export function watchWrites({ redis, prefix, id, log }: WriteWatchOptions): WriteWatch {
  const stopping = new AbortController();
  const key = `{${prefix}}:writes:${id}`;
  const watch = { refusal: null as string | null };
  let told = false;
  const look = async (): Promise<void> => {
    try {
      await redis.set(key, '1', 'PX', TTL_MS);
    } catch (error) {
      watch.refusal = refusalOf(error);
      if (watch.refusal === null || told) return;
      told = true;
      log.error({}, `${watch.refusal}; changes wait meanwhile, and none is lost`);
      return;
    }
    watch.refusal = null;
    if (told) log.info({}, 'Redis takes writes again');
    told = false;
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await look();
      await sleep(EVERY_MS, stopping.signal);
    }
  };
  const running = run();
  return {
    get refusal() {
      return watch.refusal;
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

/** Null where nobody answers: that is told by the connection itself. */
function refusalOf(error: unknown): string | null {
  const text = describeError(error);
  const remedy = REMEDIES.find(([code]) => text.startsWith(code))?.[1];
  return remedy === undefined ? null : `Redis takes no writes (${text}): ${remedy}`;
}
