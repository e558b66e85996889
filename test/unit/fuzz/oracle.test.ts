import { describe, expect, test } from '@jest/globals';
import { wantedOf } from '../../fuzz/oracle.ts';
import { differences } from '../../fuzz/difference.ts';
import { change, endpoint, MANAGER, service, slice, workload, worldOf } from './world-fixture.ts';

/** Lines of what the oracle wants, without the object that they are of. */
function lines(one: object, workloads: readonly object[] = [workload('vm')]): string[] | null {
  const wanted = wantedOf(one, workloads, MANAGER);
  return (
    wanted?.endpoints.map(({ line }) => line.replace(/; ExternalWorkload \S+ [^\s;]+/, '')) ?? null
  );
}

const READY = 'ready, serving, not terminating';

describe('the oracle', () => {
  test('wants nothing for what gets no slices (B1)', () => {
    expect(wantedOf(undefined, [workload('vm')], MANAGER)).toBeNull();
    expect(lines(service({ type: 'ExternalName' }))).toBeNull();
    expect(lines(service({ selector: {} }))).toBeNull();
  });

  test('takes workloads that carry every pair of the selector (B3)', () => {
    const two = service({ selector: { app: 'red', tier: 'front' } });
    expect(lines(two)).toEqual([]);
    expect(lines(two, [workload('vm', { labels: { tier: 'front' } })])).toHaveLength(1);
  });

  test('follows the families of the Service (C1, D2)', () => {
    const both = [workload('vm', { ips: ['192.0.2.1', '2001:0DB8:0:0::1'] })];
    const v4 = `IPv4 192.0.2.1 at http:8080/TCP: ${READY}`;
    const v6 = `IPv6 2001:db8::1 at http:8080/TCP: ${READY}`;
    expect(lines(service(), both)).toEqual([v4]);
    expect(lines(service({ ipFamilies: ['IPv6'] }), both)).toEqual([v6]);
    expect(lines(service({ ipFamilies: ['IPv6', 'IPv4'] }), both)).toEqual([v4, v6]);
    expect(lines(service({ ipFamilies: [], clusterIP: 'fd00::1' }), both)).toEqual([v6]);
    expect(lines(service({ ipFamilies: [], clusterIP: 'None' }), both)).toHaveLength(2);
  });

  test.each(['127.0.0.1', '169.254.1.1', '224.0.0.1', '0.0.0.0', '192.0.2.010', 'x', '::1', ''])(
    'leaves the address %p out alone (D1)',
    (ip) => {
      const [line] =
        lines(service(), [workload('vm', { ips: [ip, '192.0.2.7', '192.0.2.7'] })]) ?? [];
      expect(line).toBe(`IPv4 192.0.2.7 at http:8080/TCP: ${READY}`);
    },
  );

  test.each(['::', '::1', 'fe80::1', 'ff02::1', '::ffff:192.0.2.1', '2001:db8::1%eth0'])(
    'leaves the address %p out alone (D1)',
    (ip) => {
      expect(lines(service({ ipFamilies: ['IPv6'] }), [workload('vm', { ips: [ip] })])).toEqual([]);
    },
  );

  test('says whether a workload is ready (D3, D4)', () => {
    const states = (conditions: readonly object[], spec: object = {}, deleted = false) =>
      lines(service(spec), [
        workload('vm', {
          conditions,
          ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
        }),
      ])?.[0]?.split(': ')[1];
    const [yes, no] = ['True', 'False'].map((status) => ({ type: 'Ready', status }));
    expect(states([no ?? {}, yes ?? {}])).toBe(READY);
    expect(states([yes ?? {}, no ?? {}])).toBe('not ready, not serving, not terminating');
    expect(states([])).toBe('not ready, not serving, not terminating');
    expect(states([], { publishNotReadyAddresses: true })).toBe(
      'ready, not serving, not terminating',
    );
    expect(states([yes ?? {}], {}, true)).toBe('not ready, serving, terminating');
  });

  test('gives hostnames, zones and hints (D6, D7, D8)', () => {
    const zoned = { labels: { 'topology.kubernetes.io/zone': 'a' } };
    const headless = service({ clusterIP: 'None', trafficDistribution: 'PreferClose' });
    const [first, second] = lines(headless, [workload('vm', zoned), workload('vm.x')]) ?? [];
    expect(first).toBe(`IPv4 192.0.2.1 at http:8080/TCP: ${READY}; hostname vm; zone a; for a`);
    expect(second).toBe(`IPv4 192.0.2.1 at http:8080/TCP: ${READY}`);
  });

  test('resolves ports by name or number, and protocol (E1, E2, E3)', () => {
    const at = (ports: readonly object[], spec: object = {}) =>
      lines(service({ ports, ...spec }))?.map((line) => /at (.*?): /.exec(line)?.[1]);
    expect(at([{ port: 8080, protocol: 'TCP' }])).toEqual([':8080/TCP']);
    expect(at([{ port: 80, targetPort: 9999 }])).toEqual([]);
    expect(at([{ name: 'dns', port: 53, targetPort: 'http', protocol: 'UDP' }])).toEqual([]);
    const some = [
      { name: 'b', port: 80, targetPort: 'http', appProtocol: 'h2c' },
      { name: 'a', port: 81, targetPort: 'none' },
    ];
    expect(at(some)).toEqual(['b:8080/TCP(h2c)']);
    expect(at([], { clusterIP: 'None' })).toEqual(['no ports']);
    expect(at([])).toEqual([]);
  });

  test('copies the labels but computes the reserved ones (G1)', () => {
    const claims = { team: 'a', 'service.kubernetes.io/headless': 'x' };
    const labels = (spec: object) => wantedOf(service(spec, claims), [], MANAGER)?.labels;
    const base = {
      team: 'a',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': MANAGER,
    };
    expect(labels({})).toEqual(base);
    expect(labels({ clusterIP: 'None' })).toEqual({
      ...base,
      'service.kubernetes.io/headless': '',
    });
  });
});

describe('the differences', () => {
  const base = [change('service', 'web', service()), change('workload', 'vm', workload('vm'))];
  const found = (...slices: readonly object[]): string[] =>
    differences(worldOf(...base, ...slices.map((one, nth) => change('slice', `s${nth}`, one))), 2);

  test('are none where each endpoint is there once', () => {
    expect(found(slice('a', [endpoint('vm')]))).toEqual([]);
  });

  test('tell what is missing, too many, or there twice', () => {
    expect(found()).toEqual([
      expect.stringMatching(/^ns\/web: missing: IPv4 192.0.2.1 at http:8080/),
    ]);
    expect(found(slice('a', [endpoint('vm'), endpoint('gone')]))).toEqual([
      expect.stringMatching(/^ns\/web: too many: .*ns\/gone/),
    ]);
    expect(found(slice('a', [endpoint('vm')]), slice('b', [endpoint('vm')]))).toEqual([
      expect.stringMatching(/^ns\/web: twice: /),
    ]);
    expect(found(slice('a', [endpoint('vm')], { port: 1 }))).toHaveLength(2);
    expect(found(slice('a', [endpoint('vm', '192.0.2.1', false)]))).toHaveLength(2);
  });

  test('tell an empty slice, one that is too large, wrong labels and another owner', () => {
    expect(found(slice('a', [endpoint('vm')]), slice('b', []))).toEqual([
      'ns/web: b has 0 endpoints (1 to 2 are right)',
    ]);
    expect(found(slice('a', [endpoint('vm'), endpoint('x'), endpoint('y')]))).toContain(
      'ns/web: a has 3 endpoints (1 to 2 are right)',
    );
    expect(found(slice('a', [endpoint('vm')], { labels: { by: 'hand' } }))).toEqual([
      expect.stringMatching(/has the labels .*hand/),
    ]);
    expect(found(slice('a', [endpoint('vm')], { owner: 'old-uid' }))).toEqual([
      expect.stringMatching(/is not owned by the Service web-uid/),
    ]);
  });

  test('tell slices of a Service that has none, and leave those of others alone', () => {
    const stray = slice('a', [], { labels: { 'kubernetes.io/service-name': 'gone' } });
    expect(found(slice('b', [endpoint('vm')]), stray)).toEqual(['ns/gone: a should not exist']);
    const foreign = { labels: { 'endpointslice.kubernetes.io/managed-by': 'them' } };
    expect(found(slice('b', [endpoint('vm')]), slice('c', [], foreign))).toEqual([]);
  });
});
