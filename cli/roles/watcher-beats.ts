import { hostname } from 'node:os';
import { viewName, viewScope } from '../../core/view-scope.ts';
import { packageVersion } from '../../platform/package-file.ts';
import { BEAT_EVERY_MS } from '../../platform/redis/beats.ts';
import type { WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { noteScope } from '../../platform/redis/view/local-services.ts';
import { watcherBeats } from '../../platform/redis/watchers.ts';
import type { LocalWatcher } from '../../watcher/local-watcher.ts';
import { followOtherViews } from '../../watcher/other-views.ts';
import { inBackground } from './in-background.ts';
import type { Runtime } from './runtime.ts';

/** How a watcher is seen by others of its install. */
export interface WatcherLife {
  /** Says no more; gives whether no other watcher feeds the same view. */
  end(): Promise<boolean>;
}

/**
 * Says in Redis that this watcher lives, of which release it is, how its watches are, which namespaces it serves
 * and which view it feeds; and sees when the last watcher of another view is gone.
 */
export function startWatcherLife(
  runtime: Runtime,
  watcher: LocalWatcher,
  queue: Pick<WorkQueue, 'addResync'>,
): WatcherLife {
  const { redis, clusterUid, config, id, log } = runtime;
  const ending = new AbortController();
  const beats = watcherBeats(redis, config.redisPrefix);
  const scope = viewScope(clusterUid, config.adopt);
  const view = viewName(scope);
  const filter = { include: config.includeNamespaces, exclude: config.excludeNamespaces };
  const about = { id, host: hostname(), pid: process.pid, version: packageVersion() };
  const beat = (): void => {
    const kinds = [...watcher.health().kinds];
    const states = Object.fromEntries(kinds.map(([kind, { state }]) => [kind, state.kind]));
    beats.beat({ ...about, states, filter, view }).catch(() => undefined);
    noteScope(redis, config.redisPrefix, scope).catch(() => undefined);
  };
  const timer = setInterval(beat, BEAT_EVERY_MS);
  beat();
  void watcher.ready.then(beat);
  const fed = async (): Promise<string[]> =>
    (await beats.live()).map((one) => one.view ?? UNNAMED_VIEW);
  const onGone = (views: readonly string[]): Promise<void> =>
    lookAtAllAgain(runtime, watcher, queue, views);
  const { signal } = ending;
  inBackground(runtime, followOtherViews({ own: view, fed, onGone, ...LOOKS, log, signal }));
  return {
    end: async () => {
      ending.abort();
      clearInterval(timer);
      await beats.forget(id).catch(() => undefined);
      const others = await fed().catch(() => [view]);
      return !others.includes(view);
    },
  };
}

/** Marks are prolonged as often as beats are told, each by a timer of its own. */
const LOOKS = { everyMs: BEAT_EVERY_MS, settleMs: BEAT_EVERY_MS + 1_000 } as const;

/** That of a release which did not say. */
const UNNAMED_VIEW = 'of an older release';

/** What was looked at by the marks of a view that nobody fed. Of two watchers' adds one run comes. */
async function lookAtAllAgain(
  { log }: Pick<Runtime, 'log'>,
  watcher: LocalWatcher,
  queue: Pick<WorkQueue, 'addResync'>,
  views: readonly string[],
): Promise<void> {
  const keys = await watcher.keys();
  const reason = 'the last watcher of another view is gone';
  const at = Date.now();
  await queue.addResync(keys.map((key) => ({ key, reason, at })));
  log.info({ views, services: keys.length }, `${reason}: every Service is looked at again`);
}
