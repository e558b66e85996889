import { namespacePredicate } from '../../core/namespace-filter.ts';
import { liveWatchers, workerBeats } from '../../platform/redis/watchers.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { plural } from '../text-table.ts';

/** Processes that would write again what is removed. */
export interface Living {
  /** `2 watchers and 1 worker (box/7, box/8, box/9)`; '' when there are none. */
  readonly text: string;
}

/**
 * Who was heard of within the last ten seconds. Of one namespace those watchers count that serve it: a
 * worker does what it is told by them.
 */
export async function findLiving(
  redis: RedisClient,
  prefix: string,
  namespace: string | undefined,
): Promise<Living> {
  const [watchers, workers] = await Promise.all([
    liveWatchers(redis, prefix),
    workerBeats(redis, prefix).live(),
  ]);
  if (namespace === undefined) return describe(watchers, workers);
  // Of one that does not say what it serves everything has to be feared.
  const serving = watchers.filter(({ filter }) => !filter || namespacePredicate(filter)(namespace));
  return describe(serving, []);
}

interface Process {
  readonly host: string;
  readonly pid: number;
}

const SHOWN = 5;

function describe(watchers: readonly Process[], workers: readonly Process[]): Living {
  const all = [...watchers, ...workers];
  if (all.length === 0) return { text: '' };
  const groups = [
    ...(watchers.length > 0 ? [plural(watchers.length, 'watcher')] : []),
    ...(workers.length > 0 ? [plural(workers.length, 'worker')] : []),
  ];
  const places = [...new Set(all.map(({ host, pid }) => `${host}/${pid}`))];
  const more = places.length > SHOWN ? ', …' : '';
  return { text: `${groups.join(' and ')} (${places.slice(0, SHOWN).join(', ')}${more})` };
}
