import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { redisUrlFile } from '../../platform/config.ts';
import type { Contender, Place, RunningContender } from './contender.ts';
import { startMeasured, type MeasuredProcess } from './process.ts';

/** The command as users run it. */
export const TETHER = join(import.meta.dirname, '../../cli/bin.js');

const REDIS = /^(redis|valkey)-server/;
const POLL_MS = 10;
const LIMIT_MS = 30_000;

/** `tether up`: one process, and the private Redis that it brings. */
export const tetherUp: Contender = {
  title: 'Tether',
  backing: 'workloads',
  start: (place) => startTetherUp(place, {}),
};

/** As `tetherUp`, with more in its environment, and perhaps another program. */
export function startTetherUp(
  place: Place,
  env: Readonly<Record<string, string>>,
  program = TETHER,
): Promise<RunningContender> {
  const child = startMeasured(program, ['up'], {
    cwd: place.dir,
    logFile: join(place.dir, 'tether.log'),
    env: { ...place.tetherEnv, ...env },
  });
  place.usage.track('controller', child.pid);
  place.usage.trackChild('Redis', child.pid, REDIS);
  return Promise.resolve({
    ...child,
    metrics: () => scrape(child),
    redisUrl: () => readFileSync(redisUrlFile(place.dir), 'utf8').trim(),
  });
}

/** The `/metrics` of a role, at the address that its log tells. */
export async function scrape(child: MeasuredProcess): Promise<string> {
  const url = await until(() => logged(child.log(), 'serving')?.['url'], child);
  const response = await fetch(`${String(url)}/metrics`, { headers: { connection: 'close' } });
  return response.text();
}

/** The first line of a JSON log whose message begins so. */
export function logged(
  log: string,
  message: string,
): Readonly<Record<string, unknown>> | undefined {
  const line = log.split('\n').find((text) => text.includes(`"msg":"${message}`));
  return line === undefined ? undefined : (JSON.parse(line) as Record<string, unknown>);
}

/** Looks until there is something, or the process ends. */
async function until<T>(look: () => T | undefined, child: MeasuredProcess): Promise<T> {
  const giveUp = Date.now() + LIMIT_MS;
  while (Date.now() < giveUp) {
    const found = look();
    if (found !== undefined) return found;
    await Promise.race([delay(POLL_MS), child.failed]);
  }
  throw new Error(`not within ${LIMIT_MS / 1000} s: ${look.toString()}`);
}
