import { beforeAll, beforeEach, expect } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { eventually } from './eventually.ts';
import { freshNamespace } from './namespaces.ts';
import { createService, createWorkload, endpointsOf, slicesOf } from './objects.ts';
import { spawnTether, type TetherProcess } from './processes.ts';

/** One `tether up` on the real API server for a whole test file; each test has a namespace of its own. */
export interface UpRig {
  readonly ns: string;
  /** Waits until the slices of ours offer exactly these, as `endpointsOf` words them. */
  endpointsBecome(service: string, expected: readonly string[]): Promise<void>;
  /** Waits until the Service has exactly one slice of ours with these endpoints, and gives it. */
  sliceBecomes(service: string, expected: readonly string[]): Promise<ApiEndpointSlice>;
  /** Waits until there is exactly one slice of ours that matches, and gives it. */
  sliceMatches(service: string, expected: object): Promise<ApiEndpointSlice>;
  /** Waits until no slice of ours is left. */
  noSlices(service: string): Promise<void>;
  /** The one slice there is now. */
  onlySlice(service: string): Promise<ApiEndpointSlice>;
  /** Waits until what happened before has been seen and worked off, as a later change has been. */
  afterwards(): Promise<void>;
}

/** The rig together with the process that it started. */
export interface StartedRig extends UpRig {
  readonly tether: TetherProcess;
}

/** To be called once at the top of a test file. */
export function upRig(name: string, args: readonly string[] = []): StartedRig {
  let ns = '';
  let tether: TetherProcess;
  beforeAll(async () => {
    tether = spawnTether(['up', '--redis-prefix', name, ...args], { lifetime: 'file' });
    await tether.untilLog(/"ready"|ready$/m);
  });
  beforeEach(async () => {
    ns = await freshNamespace(name);
  });
  return Object.defineProperty(
    rigOf(() => ns),
    'tether',
    { get: () => tether },
  ) as StartedRig;
}

/** The same looks, for a test that starts its processes itself. */
export function rigOf(namespace: () => string): UpRig {
  const onlySlice = async (service: string): Promise<ApiEndpointSlice> => {
    const slices = await slicesOf(namespace(), service);
    expect(slices).toHaveLength(1);
    return slices[0] ?? {};
  };
  const endpointsBecome = (service: string, expected: readonly string[]): Promise<void> =>
    eventually(async () => expect(await endpointsOf(namespace(), service)).toEqual(expected));
  let afters = 0;
  return {
    get ns() {
      return namespace();
    },
    onlySlice,
    endpointsBecome,
    sliceBecomes: (service, expected) =>
      eventually(async () => {
        expect(await endpointsOf(namespace(), service)).toEqual(expected);
        return onlySlice(service);
      }),
    sliceMatches: (service, expected) =>
      eventually(async () => {
        const slice = await onlySlice(service);
        expect(slice).toMatchObject(expected);
        return slice;
      }),
    noSlices: (service) =>
      eventually(async () => expect(await slicesOf(namespace(), service)).toEqual([])),
    afterwards: async () => {
      const name = `after-${(afters += 1)}`;
      await createService(namespace(), name);
      await createWorkload(namespace(), name, name, { ips: ['192.0.2.250'] });
      await endpointsBecome(name, ['192.0.2.250 8080 ready']);
    },
  };
}
