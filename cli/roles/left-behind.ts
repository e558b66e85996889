import { describeError } from '../../core/errors.ts';
import { sleep } from '../../platform/process/sleep.ts';
import { liveWatchers } from '../../platform/redis/watchers.ts';
import { findLeftBehind, LEFT_BEHIND_HINT, servedByAny } from '../../watcher/left-behind.ts';
import type { Runtime } from './runtime.ts';

/**
 * Looks at the start and once a resync's interval for slices of ours in namespaces that no watcher of
 * this install serves; counts them, and says so when they change. Where all namespaces are served there
 * is nothing to look for. Resolves when the signal aborts.
 */
export async function reportLeftBehind(runtime: Runtime, signal: AbortSignal): Promise<void> {
  const { client, config, redis, log, metrics } = runtime;
  const own = { include: config.includeNamespaces, exclude: config.excludeNamespaces };
  if (own.include.length + own.exclude.length === 0) return;
  let count = 0;
  let told = '';
  metrics.watch.leftBehindFrom(() => count);
  for (; !signal.aborted; await sleep(config.resyncMs, signal)) {
    try {
      const others = (await liveWatchers(redis, config.redisPrefix)).map(({ filter }) => filter);
      const served = servedByAny([own, ...others]);
      const found = await findLeftBehind(client, config.manager, served, signal);
      count = found.reduce((sum, { slices }) => sum + slices, 0);
      const text = found.map(({ namespace, slices }) => `${namespace}: ${slices}`).join(', ');
      if (text !== '' && text !== told) {
        log.warn(
          { slices: count, namespaces: text },
          `EndpointSlices of ours are in namespaces that are not served. ${LEFT_BEHIND_HINT}`,
        );
      }
      told = text;
    } catch (error) {
      if (signal.aborted) return;
      log.debug({ error: describeError(error) }, 'could not look for slices left behind');
    }
  }
}
