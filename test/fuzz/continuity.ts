import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { endpointsIn, type Wanted } from './oracle.ts';
import type { Change, World } from './world.ts';

/** What a reader of the slices saw between two quiet points. */
export interface Continuity {
  /** Endpoints that the rules wanted ready in every state in between, and that were looked for. */
  readonly watched: number;
  /** States of the slices that a reader could see. */
  readonly states: number;
  /** One line for each endpoint that was missed, with the first change after which it was. */
  readonly missed: readonly string[];
}

/**
 * No reader may miss an endpoint that belongs there before and after (rule H2). An endpoint that
 * was shown as ready at a quiet point, and that the rules have wanted ready in every state of the
 * world since, has to be shown as ready in every state of the slices since: whatever a controller
 * was late with, it planned from one of those states. So there is no false alarm, however slow the
 * machine is.
 *
 * @param world at the quiet point; it is brought up to date by the changes, in the store's order.
 * @param damaged Services whose slices were changed by hand meanwhile, which excuses anything.
 */
export function checkContinuity(
  world: World,
  changes: readonly Change[],
  damaged: ReadonlySet<string>,
): Continuity {
  const watched = new Map(
    world
      .services()
      .filter((service) => !damaged.has(service))
      .map((service) => [service, shownAndWanted(world, service)] as const),
  );
  const missed: string[] = [];
  let states = 0;
  for (const change of changes) {
    const touched = change.kind === 'slice' ? [] : servicesOf(change, watched);
    const before = sliceOwner(world, change);
    world.apply(change);
    for (const service of touched) keepWanted(watched.get(service), world.wanted(service));
    if (change.kind !== 'slice') continue;
    states += 1;
    for (const service of new Set([before, sliceOwner(world, change)])) {
      missed.push(...look(world, service, watched, change));
    }
  }
  const left = [...watched.values()].reduce((sum, identities) => sum + identities.size, 0);
  return { watched: left + missed.length, states, missed };
}

type Watched = ReadonlyMap<string, Set<string>>;

function shownAndWanted(world: World, service: string): Set<string> {
  const wanted = readyOf(world.wanted(service));
  const shown = shownReady(world, service);
  return new Set([...wanted].filter((identity) => shown.has(identity)));
}

function servicesOf({ kind, namespace, name }: Change, watched: Watched): string[] {
  const own = `${namespace}/${name}`;
  return [...watched.keys()].filter((service) =>
    kind === 'service' ? service === own : service.startsWith(`${namespace}/`),
  );
}

function sliceOwner(world: World, { kind, namespace, name }: Change): string | undefined {
  const slice = kind === 'slice' ? world.get('slice', `${namespace}/${name}`) : undefined;
  return slice === undefined ? undefined : world.serviceOf(slice);
}

/** What was not wanted for a moment is not watched any more, even when it comes back. */
function keepWanted(identities: Set<string> | undefined, wanted: Wanted | null): void {
  const ready = readyOf(wanted);
  for (const identity of identities ?? []) if (!ready.has(identity)) identities?.delete(identity);
}

function look(
  world: World,
  service: string | undefined,
  watched: Watched,
  change: Change,
): string[] {
  const identities = service === undefined ? undefined : watched.get(service);
  if (identities === undefined) return [];
  const shown = shownReady(world, service ?? '');
  const gone = [...identities].filter((identity) => !shown.has(identity));
  // Once is enough.
  for (const identity of gone) identities.delete(identity);
  const what = `${change.object === null ? 'the deletion' : 'a write'} of slice ${change.name}`;
  return gone.map((id) => `${service}: ${id} after ${what} (version ${change.revision})`);
}

function readyOf(wanted: Wanted | null): Set<string> {
  const ready = wanted?.endpoints.filter((endpoint) => endpoint.ready) ?? [];
  return new Set(ready.map(({ identity }) => identity));
}

function shownReady(world: World, service: string): Set<string> {
  const shown = world.slicesOf(service).flatMap((slice: ApiEndpointSlice) => endpointsIn(slice));
  return new Set(shown.filter(({ ready }) => ready).map(({ identity }) => identity));
}
