import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../platform/process/free-port.ts';
import { monotonicMs } from '../clock.ts';
import { startFleet, type RunningFleet } from '../contenders/fleet.ts';
import type { Stage } from '../stage.ts';
import { addressesOf, REMOTE_NAMESPACE, type DoubleMode } from './doubles-api.ts';
import { startDoubles, type Doubles } from './doubles.ts';
import { startReader, type Reader } from './reader.ts';
import type { Target } from './reader-api.ts';
import { openSecrets, type Secrets } from './secrets.ts';
import type { LinkedSizes } from './sizes.ts';

/** The cluster that scenarios change, rotate and read; a double. */
export const CHANGED = 'good-0';
/** One that is behind a real API server. */
export const REAL = 'real-0';
/** A token has this many watches once a cluster is watched with it. */
export const WATCHES = 3;

/** Linked clusters, their Secrets, and processes of Tether that know them. */
export interface LinkedRun {
  readonly stage: Stage;
  readonly sizes: LinkedSizes;
  readonly doubles: Doubles;
  readonly reader: Reader;
  readonly secrets: Secrets;
  readonly fleet: RunningFleet;
  /** Kubeconfigs of the real API servers that are linked, `real-0` first. */
  readonly real: readonly string[];
  /** Clusters that should answer. */
  readonly good: readonly string[];
  readonly timeoutMs: number;
  /** Where `service-0` of a cluster is looked up. */
  target(cluster: string, query?: string): Target;
}

/** What may be linked. */
export interface LinkedShape {
  readonly sizes: LinkedSizes;
  /** All of the sizes' clusters; else one double and one real one. */
  readonly all: boolean;
  readonly timeoutMs: number;
}

/** Makes the clusters and their Secrets, then starts Tether; `owned` ends it all. */
export async function startLinkedRun(
  stage: Stage,
  shape: LinkedShape,
  owned: AsyncDisposableStack,
): Promise<LinkedRun> {
  const { sizes, all, timeoutMs } = shape;
  const doubles = startDoubles();
  owned.defer(() => doubles.stop());
  stage.usage.track('doubles', doubles.pid);
  const reader = startReader();
  owned.defer(() => reader.stop());
  stage.usage.track('readers', reader.pid);
  const secrets = await openSecrets(stage.kubeconfig, `${stage.prefix}-secrets`);
  owned.defer(() => secrets.close());
  const real = [stage.kubeconfig, ...stage.others].slice(0, all ? sizes.real : 1);
  const good: string[] = [];
  for (const [nth, kubeconfig] of real.entries()) {
    await reader.prepareReal(kubeconfig);
    await secrets.create(`real-${nth}`, readFileSync(kubeconfig, 'utf8'));
    good.push(`real-${nth}`);
  }
  for (const { name, mode } of doublesOf(sizes, all)) {
    const made = await doubles.make(name, mode, sizes.remote);
    await secrets.create(name, made.kubeconfig);
    if (mode === 'good') good.push(name);
  }
  const port = await freePort();
  const fleet = await startFleet(placeOf(stage, secrets.namespace), {
    watchers: 2,
    workers: 1,
    lookupPorts: [port],
  });
  owned.defer(() => fleet.stop());
  const target = (cluster: string, query = ''): Target => ({
    port,
    path: `/v1/clusters/${cluster}/services/${REMOTE_NAMESPACE}/service-0/endpoints${query}`,
  });
  return { stage, sizes, doubles, reader, secrets, fleet, real, good, timeoutMs, target };
}

/** Tether's processes may link what is on the loopback. */
function placeOf(stage: Stage, namespace: string): Stage {
  const tetherEnv = {
    ...stage.tetherEnv,
    TETHER_NAMESPACE: namespace,
    TETHER_CLUSTERS_ALLOW_LOOPBACK: 'true',
  };
  return { ...stage, tetherEnv };
}

function doublesOf(sizes: LinkedSizes, all: boolean): { name: string; mode: DoubleMode }[] {
  const some = (mode: DoubleMode, count: number): { name: string; mode: DoubleMode }[] =>
    Array.from({ length: count }, (_, nth) => ({ name: `${mode}-${nth}`, mode }));
  if (!all) return some('good', 1);
  return [
    ...some('good', sizes.good),
    ...some('black-hole', sizes.blackHoles),
    ...some('refusing', sizes.refusing),
    ...some('garbage', sizes.garbage),
  ];
}

/** Addresses of `service-0` that no change takes away. */
export function lastingAddresses(run: LinkedRun): string[] {
  return addressesOf(0, run.sizes.remote.per).slice(1);
}

const POLL_MS = 20;

/**
 * Waits until something holds, looking every `pollMs`; gives when it was first seen to.
 *
 * @throws {Error} that says `what`, once the run's time is over.
 */
export async function untilHolds(
  run: LinkedRun,
  what: string,
  look: () => Promise<boolean>,
  pollMs = POLL_MS,
): Promise<number> {
  const giveUp = monotonicMs() + run.timeoutMs;
  while (monotonicMs() < giveUp) {
    if (await look()) return monotonicMs();
    await Promise.race([delay(pollMs), run.fleet.failed]);
  }
  throw new Error(`not within ${run.timeoutMs / 1000} s: ${what}`);
}

/** Waits until a cluster answers with an address that it had from the start; gives when. */
export function untilAnswers(run: LinkedRun, cluster: string, pollMs = POLL_MS): Promise<number> {
  const [, lasting = ''] = addressesOf(0, run.sizes.remote.per);
  const look = async (): Promise<boolean> => {
    const { status, body } = await run.reader.ask(run.target(cluster));
    return status === 200 && body.includes(lasting);
  };
  return untilHolds(run, `${cluster} answers`, look, pollMs);
}
