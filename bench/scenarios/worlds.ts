import type { LoadResult } from '../agent/load.ts';
import type { Contender } from '../contenders/contender.ts';
import type { Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import type { World } from '../world.ts';

/** The world of a run: so many Services, with what the contender makes endpoints of behind them. */
export function worldOf(
  sitting: Sitting,
  stage: Stage,
  size: { readonly services: number; readonly per: number },
  backing: Contender['backing'] = 'workloads',
): World {
  const { services, per } = size;
  const namespaces = Math.min(sitting.sizes.namespaces, services);
  return { prefix: stage.prefix, services, per, namespaces, backing, withStatus: true };
}

/** Loads a world and watches its slices from then on. */
export async function prepare(sitting: Sitting, stage: Stage, world: World): Promise<LoadResult> {
  const loaded = await stage.agent.load(world, sitting.sizes.writers);
  sitting.say(`  loaded: ${loaded.requests} requests in ${loaded.seconds.toFixed(1)} s`);
  await stage.agent.observe(world);
  return loaded;
}

/** `500 × 4` */
export function sizeText({ services, per }: { services: number; per: number }): string {
  return `${services.toLocaleString('en-US')} × ${per.toLocaleString('en-US')}`;
}
