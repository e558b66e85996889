import { describe, expect, test } from '@jest/globals';
import { audit, sliceVersions } from '../../fuzz/audit.ts';
import { checkContinuity } from '../../fuzz/continuity.ts';
import { findOverlaps, type SliceWrite } from '../../fuzz/overlaps.ts';
import type { Change } from '../../fuzz/world.ts';
import type { ProxiedWrite } from '../../support/fault-proxy.ts';
import { change, endpoint, service, slice, workload, worldOf } from './world-fixture.ts';

/** One Service with two ready workloads in one slice. */
function right() {
  return worldOf(
    change('service', 'web', service()),
    change('workload', 'vm-a', workload('vm-a')),
    change('workload', 'vm-b', workload('vm-b', { ips: ['192.0.2.2'] })),
    change('slice', 's', slice('s', [endpoint('vm-a'), endpoint('vm-b', '192.0.2.2')])),
  );
}

function look(changes: readonly Change[], damaged: readonly string[] = []) {
  const { watched, states, missed } = checkContinuity(right(), changes, new Set(damaged));
  return { watched, states, missed: missed.map((text) => text.replace(/ \(version.*/, '')) };
}

const A_ALONE = slice('s', [endpoint('vm-a')]);
const B_MISSED = ['ns/web: IPv4 192.0.2.2  vm-b after a write of slice s'];

describe('an endpoint that is wanted throughout', () => {
  test('may not be missed in any state of the slices (H2)', () => {
    const back = slice('s', [endpoint('vm-a'), endpoint('vm-b', '192.0.2.2')]);
    const changes = [change('slice', 's', A_ALONE), change('slice', 's', back)];
    expect(look(changes)).toEqual({ watched: 2, states: 2, missed: B_MISSED });
  });

  test('may move to another slice, if it is there before it leaves the first', () => {
    const moved = slice('t', [endpoint('vm-b', '192.0.2.2')], { port: 9090 });
    const adds = change('slice', 't', moved);
    const drops = change('slice', 's', A_ALONE);
    expect(look([adds, drops]).missed).toEqual([]);
    expect(look([drops, adds]).missed).toEqual(B_MISSED);
  });

  test('counts as missed when it is shown as not ready, or its slice goes', () => {
    const unready = slice('s', [endpoint('vm-a'), endpoint('vm-b', '192.0.2.2', false)]);
    expect(look([change('slice', 's', unready)]).missed).toEqual(B_MISSED);
    expect(look([change('slice', 's', null)]).missed).toHaveLength(2);
    const given = slice('s', [], { labels: { 'kubernetes.io/service-name': 'other' } });
    expect(look([change('slice', 's', given)]).missed).toHaveLength(2);
  });

  test('is not looked for any more once it was not wanted for a moment', () => {
    const conditions = [{ type: 'Ready', status: 'False' }];
    const ips = ['192.0.2.2'];
    const changes = [
      change('workload', 'vm-b', workload('vm-b', { ips, conditions })),
      change('workload', 'vm-b', workload('vm-b', { ips })),
      change('slice', 's', A_ALONE),
    ];
    expect(look(changes)).toEqual({ watched: 1, states: 1, missed: [] });
  });

  test('is not looked for in a Service that is made anew, or was damaged by hand', () => {
    const anew = [change('service', 'web', null), change('service', 'web', service())];
    expect(look([...anew, change('slice', 's', null)]).missed).toEqual([]);
    expect(look([change('slice', 's', null)], ['ns/web'])).toMatchObject({
      watched: 0,
      missed: [],
    });
  });
});

describe('two writes of one Service', () => {
  const write = (by: string, from: number, to: number, on = 'ns/web'): SliceWrite => ({
    by,
    service: on,
    what: `PUT ${on}`,
    from,
    to,
  });

  test('that were under way at once, by two processes, mean two runs at once (queue 2)', () => {
    const [one, other] = [write('a', 0, 10), write('b', 9, 20)];
    expect(findOverlaps([one, other], []).found).toHaveLength(1);
    expect(findOverlaps([one, write('a', 9, 20)], []).found).toEqual([]);
    expect(findOverlaps([one, write('b', 10, 20)], []).found).toEqual([]);
    expect(findOverlaps([one, write('b', 9, 20, 'ns/api')], []).found).toEqual([]);
  });

  test('are excused while a lock could not hold', () => {
    const writes = [write('a', 0, 10), write('b', 9, 20)];
    const excuse = { why: 'redis killed', from: 15, to: 30 };
    expect(findOverlaps(writes, [excuse])).toEqual({ found: [], excused: 1 });
    expect(findOverlaps(writes, [{ ...excuse, from: 21 }]).found).toHaveLength(1);
  });
});

describe('the audit of writes', () => {
  const world = right();
  const foreign = change(
    'slice',
    'foreign',
    slice('foreign', [], { labels: { 'endpointslice.kubernetes.io/managed-by': 'them' } }),
  );
  const ours = change('slice', 's', A_ALONE);
  const versions = sliceVersions(world, [foreign, ours]);
  const judge = (method: string, name: string, body: unknown, more: Partial<ProxiedWrite> = {}) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices${name && `/${name}`}`;
    const write = { by: 'a', from: 0, to: 1, status: 200, answer: {}, method, path, body, ...more };
    return audit([write], versions, (one) => world.serviceOf(one));
  };
  const at = (revision: number) => ({ metadata: { resourceVersion: String(revision) } });

  test('lets an update, a delete and a create of a slice of ours pass (H1)', () => {
    expect(judge('PUT', 's', at(ours.revision)).wrong).toEqual([]);
    const preconditions = at(ours.revision).metadata;
    expect(judge('DELETE', 's', { preconditions }).writes).toMatchObject([{ service: 'ns/web' }]);
    expect(judge('POST', '', A_ALONE)).toMatchObject({ landed: 1, wrong: [] });
  });

  test('finds a write without a version, and one of a slice of somebody else (B1, H1)', () => {
    expect(judge('PUT', 's', {}).wrong).toHaveLength(1);
    expect(judge('DELETE', 's', undefined).wrong).toHaveLength(1);
    expect(judge('PUT', 'foreign', at(foreign.revision)).wrong).toHaveLength(1);
  });

  test('is not about what failed, and not about other objects', () => {
    expect(judge('PUT', 's', {}, { status: 409 })).toEqual({ writes: [], landed: 0, wrong: [] });
    expect(judge('POST', '', {}, { path: '/api/v1/namespaces/ns/events' }).wrong).toEqual([]);
  });
});
