import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { endpointsIn } from './oracle.ts';
import { nameOf, type World } from './world.ts';

/** What is wrong with the slices of each Service, as sentences; empty when all is as the rules say. */
export function differences(world: World, maxEndpoints: number): string[] {
  return world
    .services()
    .flatMap((service) =>
      differencesOf(world, service, maxEndpoints).map((text) => `${service}: ${text}`),
    );
}

function differencesOf(world: World, service: string, maxEndpoints: number): string[] {
  const wanted = world.wanted(service);
  const slices = world.slicesOf(service);
  if (wanted === null) return slices.map((slice) => `${nameOf(slice)} should not exist`);
  const uid = world.get('service', service)?.metadata?.uid ?? '';
  return [
    ...compare(
      wanted.endpoints.map(({ line }) => line),
      slices.flatMap((slice) => endpointsIn(slice).map(({ line }) => line)),
    ),
    ...slices.flatMap((slice) => [
      ...wrongSize(slice, maxEndpoints),
      ...wrongMetadata(slice, wanted.labels, uid),
    ]),
  ];
}

/** As bags: what is wanted once has to be there once. */
function compare(wanted: readonly string[], shown: readonly string[]): string[] {
  const rest = [...shown];
  const missing = wanted.filter((line) => {
    const at = rest.indexOf(line);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
  return [
    ...missing.map((line) => `missing: ${line}`),
    ...rest.map((line) => `${wanted.includes(line) ? 'twice' : 'too many'}: ${line}`),
  ];
}

function wrongSize(slice: ApiEndpointSlice, most: number): string[] {
  const size = slice.endpoints?.length ?? 0;
  if (size > 0 && size <= most) return [];
  return [`${nameOf(slice)} has ${size} endpoints (1 to ${most} are right)`];
}

function wrongMetadata(
  slice: ApiEndpointSlice,
  labels: Readonly<Record<string, string>>,
  uid: string,
): string[] {
  const { metadata } = slice;
  const owned = metadata?.ownerReferences?.some((owner) => owner.controller && owner.uid === uid);
  const found = text(metadata?.labels ?? {});
  return [
    ...(owned === true ? [] : [`${nameOf(slice)} is not owned by the Service ${uid}`]),
    ...(found === text(labels)
      ? []
      : [`${nameOf(slice)} has the labels ${found}, not ${text(labels)}`]),
  ];
}

function text(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
