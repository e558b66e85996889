import { beforeAll, describe, expect, it } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  exists,
  slicesOf,
  slicesPath,
} from '../support/objects.ts';
import { spawnTether } from '../support/processes.ts';
import { TEST_MANAGER } from '../support/run.ts';

/** Rule A7: one filter for every kind of event. */
let inside: string;
let outside: string;

async function fill(ns: string): Promise<void> {
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web');
  await apiOk('POST', slicesPath(ns), {
    metadata: {
      name: 'orphan',
      labels: {
        'kubernetes.io/service-name': 'ghost',
        'endpointslice.kubernetes.io/managed-by': TEST_MANAGER,
      },
    },
    addressType: 'IPv4',
    endpoints: [],
    ports: [],
  });
}

/** The namespace that is looked at is right, so events of the other one have come, too. */
async function expectOnlyInside(): Promise<void> {
  await eventually(async () => {
    expect(await endpointsOf(inside, 'web')).toEqual(['192.0.2.10 8080 ready']);
    expect(await exists(slicesPath(inside, 'orphan'))).toBe(false);
  });
  expect(await slicesOf(outside, 'web')).toEqual([]);
  expect(await exists(slicesPath(outside, 'orphan'))).toBe(true);
}

beforeAll(async () => {
  inside = await freshNamespace('inside');
  outside = await freshNamespace('outside');
});

describe('a namespace', () => {
  it('that is excluded is left alone, whatever happens in it (A7)', async () => {
    const options = ['--redis-prefix', 'excluding', '--exclude-namespaces', outside];
    const tether = spawnTether(['up', ...options]);
    await tether.untilLog(/"ready"|ready$/m);
    await fill(outside);
    await fill(inside);
    await expectOnlyInside();
  });

  it('that is not included is left alone as well (A7)', async () => {
    inside = await freshNamespace('included');
    const tether = spawnTether(['up', '--redis-prefix', 'including', '--namespaces', inside]);
    await tether.untilLog(/"ready"|ready$/m);
    outside = await freshNamespace('not-included');
    await fill(outside);
    await fill(inside);
    await expectOnlyInside();
  });
});
