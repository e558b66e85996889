import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningContender } from '../contenders/contender.ts';
import { startTetherUp } from '../contenders/tether.ts';
import type { ProfileName } from '../options.ts';
import { prepare, sizeText, worldOf } from '../scenarios/worlds.ts';
import type { Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { foldProfile, type CpuProfile } from './fold.ts';
import { renderProfile } from './render.ts';

/** So that a profile names the sources, and not the bundle. */
const FROM_SOURCES = join(import.meta.dirname, 'tether-from-sources.js');
const ROOT = dirname(dirname(import.meta.dirname));
const US_PER_MS = 1000;

/** The moments (`monotonicMs`) between which it is looked at. */
interface Window {
  readonly from: number;
  readonly to: number;
}

/** Runs `tether up` under V8's CPU profiler and tells where its milliseconds go, as Markdown. */
export function runProfile(sitting: Sitting, name: ProfileName): Promise<string> {
  const { cold, churn } = sitting.sizes;
  const size = name === 'churn' ? churn : (cold.at(-1) ?? churn);
  return sitting.stages.on(async (stage) => {
    await prepare(sitting, stage, worldOf(sitting, stage, size));
    const dir = join(stage.dir, 'profile');
    mkdirSync(dir);
    const running = await startTetherUp(
      stage,
      {
        NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${dir}`,
      },
      FROM_SOURCES,
    );
    const window = await watch(sitting, stage, name, running).finally(() => running.stop());
    const folded = foldProfile(readProfile(dir), ROOT, {
      from: window.from * US_PER_MS,
      to: window.to * US_PER_MS,
    });
    const what = name === 'cold' ? 'Cold start' : `Churn, ${churn.perSecond} a second`;
    return renderProfile(`${what}, ${sizeText(size)}, under the profiler`, folded);
  });
}

async function watch(
  sitting: Sitting,
  stage: Stage,
  name: ProfileName,
  running: RunningContender,
): Promise<Window> {
  const { timeoutMs, settleMs, churn } = sitting.sizes;
  const { rightAt } = await stage.agent.untilRight(timeoutMs);
  if (name === 'cold') return { from: running.startedAt, to: rightAt };
  await delay(settleMs);
  const { perSecond, seconds } = churn;
  return stage.agent.churn({ perSecond, seconds, timeoutMs });
}

/** Written when the process ends in order. */
function readProfile(dir: string): CpuProfile {
  const [file] = readdirSync(dir).filter((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error(`no profile was written into ${dir}`);
  return JSON.parse(readFileSync(join(dir, file), 'utf8')) as CpuProfile;
}
