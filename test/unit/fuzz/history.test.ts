import { describe, expect, test } from '@jest/globals';
import type { Logger } from '../../../core/logger.ts';
import { createRunReport } from '../../../functions/run-report.ts';
import { createJsonLogger } from '../../../platform/telemetry/logger.ts';
import { createMetrics } from '../../../platform/telemetry/metrics.ts';
import { audit, sliceVersions } from '../../fuzz/audit.ts';
import { checkContinuity } from '../../fuzz/continuity.ts';
import { findOverlaps, type LoggedRun, type SliceWrite } from '../../fuzz/overlaps.ts';
import { readWorkerLog } from '../../fuzz/worker-log.ts';
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
    expect(findOverlaps([one, other], [], []).found).toHaveLength(1);
    expect(findOverlaps([one, write('a', 9, 20)], [], []).found).toEqual([]);
    expect(findOverlaps([one, write('b', 10, 20)], [], []).found).toEqual([]);
    expect(findOverlaps([one, write('b', 9, 20, 'ns/api')], [], []).found).toEqual([]);
  });

  test('by one run, between which another process wrote, mean the same (queue 2)', () => {
    const run = (from: number, to: number): LoggedRun => ({
      member: 'worker-0',
      service: 'ns/web',
      from,
      to,
    });
    const [first, last] = [write('worker-0 (pid 1)', 0, 10), write('worker-0 (pid 1)', 120, 130)];
    const between = write('worker-1 (pid 2)', 50, 60);
    const found = (writes: SliceWrite[], runs: LoggedRun[]): number =>
      findOverlaps(writes, runs, []).found.length;
    expect(found([first, between, last], [run(-2, 132)])).toBe(1);
    // Its line came late, and the first write of the run seems to be before it.
    expect(found([first, between, last], [run(20, 150)])).toBe(1);
    expect(found([first, between, last], [run(-2, 12), run(118, 132)])).toBe(0);
    expect(found([first, between, last], [{ ...run(-2, 132), member: 'worker-1' }])).toBe(0);
    expect(found([first, between, last], [{ ...run(-2, 132), service: 'ns/api' }])).toBe(0);
    expect(found([first, last, write('worker-1 (pid 2)', 131, 140)], [run(-2, 132)])).toBe(0);
  });

  test('are excused while a lock could not hold', () => {
    const writes = [write('a', 0, 10), write('b', 9, 20)];
    const excuse = { why: 'redis killed', from: 15, to: 30 };
    expect(findOverlaps(writes, [], [excuse])).toEqual({ found: [], excused: 1 });
    expect(findOverlaps(writes, [], [{ ...excuse, from: 21 }]).found).toHaveLength(1);
    // One key's lost lock is no other key's.
    expect(findOverlaps(writes, [], [{ ...excuse, service: 'ns/web' }]).excused).toBe(1);
    expect(findOverlaps(writes, [], [{ ...excuse, service: 'ns/api' }]).excused).toBe(0);
  });
});

describe('the log of a worker', () => {
  const SET_MS = 1_000;

  const NO_EVENTS = { emit: () => undefined, flush: () => Promise.resolve() };

  /** What `write` logs, as the lines that a role prints; times around it by the clock of the writes. */
  function linesOf(write: (log: Logger) => void) {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const before = performance.now();
    write(createJsonLogger(stream, { level: 'debug', base: { role: 'worker' } }));
    return { lines, before, after: performance.now() };
  }

  test('gives its runs, but for those that found the lock taken', () => {
    const { lines, before, after } = linesOf((log) => {
      log.debug({ key: 'ns/web', why: 'x', ms: 40 }, 'slices are right');
      log.debug({ key: 'ns/web', ms: 1 }, 'locked elsewhere');
      log.debug({ key: 'ns/web', why: 'not-in-sync' }, 'read from the API server');
      log.info({ port: 1 }, 'ready');
    });
    const { runs, lostLocks } = readWorkerLog('worker-0', [...lines, '{"key":"cut o', '']);
    expect(runs).toMatchObject([{ member: 'worker-0', service: 'ns/web' }]);
    expect(lostLocks).toEqual([]);
    const { from, to } = runs[0] ?? { from: NaN, to: NaN };
    expect(to - from).toBeGreaterThanOrEqual(40);
    expect(to - from).toBeLessThan(50);
    // The two clocks may have been set since they were started.
    expect(to).toBeGreaterThan(before - SET_MS);
    expect(to).toBeLessThan(after + SET_MS);
  });

  test('excuses a key whose lock was lost, around the time at which that is told', () => {
    const { lines, before, after } = linesOf((log) =>
      createRunReport({ events: NO_EVENTS, log, metrics: createMetrics() }).lockLost({
        namespace: 'ns',
        name: 'web',
      }),
    );
    const [lost, ...more] = readWorkerLog('worker-0', lines).lostLocks;
    expect(more).toEqual([]);
    expect(lost?.service).toBe('ns/web');
    expect(lost?.from).toBeLessThan(before);
    expect(lost?.to).toBeGreaterThan(after);
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
