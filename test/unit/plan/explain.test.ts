import { describe, expect, it } from '@jest/globals';
import { explainService } from '../../../functions/plan/explain.ts';
import type { WorkloadRecord } from '../../../core/records.ts';
import { aPort, aService, aWorkload, deepFreeze, OPTIONS, plan } from './support/builders.ts';
import { endpoints } from './support/reading.ts';

function explain(one: WorkloadRecord, service = aService(), options = OPTIONS) {
  const [explained] = explainService(deepFreeze(service), deepFreeze([one]), options).workloads;
  if (explained === undefined) throw new Error('nothing explained');
  return explained;
}

describe('explaining a Service', () => {
  it('says of a workload that is in where it is reached', () => {
    expect(explain(aWorkload('vm-1', { ips: ['10.0.0.1', '10.0.0.2'] }))).toEqual({
      workload: 'vm-1',
      uid: 'uid-vm-1',
      included: true,
      ready: true,
      addresses: ['10.0.0.1', '10.0.0.2'],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      leftOut: [],
      summary: 'in, ready: 10.0.0.1 and 10.0.0.2 at http 8080/TCP',
    });
  });

  it.each([
    [{ ready: false }, 'its Ready condition is not True'],
    [{ ready: null }, 'it has no Ready condition'],
    [{ deleting: true }, 'it is being deleted'],
  ])('says of a workload that is in and %j why it is not ready (D3, D4)', (overrides, why) => {
    const { summary, included, ready } = explain(aWorkload('vm-1', overrides));
    expect({ included, ready }).toEqual({ included: true, ready: false });
    expect(summary).toBe(`in, not ready (${why}): 10.20.0.1 at http 8080/TCP`);
  });

  it.each([
    ['lacks a label', { labels: {} }, 'selector-mismatch', 'no such label'],
    ['has another value', { labels: { app: 'db' } }, 'selector-mismatch', 'has "db"'],
    ['has no address', { ips: [] }, 'no-address', 'no spec.workloadIPs'],
    ['has the other family', { ips: ['fd00::1'] }, 'no-address-in-family', 'wants IPv4'],
    ['has a refused address', { ips: ['127.0.0.1'] }, 'address-refused', 'loopback'],
    ['has no port', { ports: [] }, 'no-port-resolves', 'needs name "http" (TCP)'],
  ] as const)(
    'says of a workload that %s why it is out (B3, D, E)',
    (_, overrides, reason, words) => {
      const explained = explain(aWorkload('vm-1', overrides));
      expect(explained).toMatchObject({ included: false, ready: false, leftOut: [{ reason }] });
      expect(explained.summary).toMatch(/^out: /);
      expect(explained.summary).toContain(words);
    },
  );

  it('tells what is left out of a workload that is in (D1, E3)', () => {
    const service = aService({ ports: [aPort(), aPort({ name: 'b', targetPort: 'b' })] });
    const explained = explain(aWorkload('vm-1', { ips: ['nonsense', '10.0.0.1'] }), service);
    expect(explained.included).toBe(true);
    expect(explained.summary).toContain('"nonsense" is not an IP address');
    expect(explained.summary).toContain('port "b" needs name "b" (TCP)');
  });

  it.each([
    [null, 'the Service does not exist'],
    [aService({ type: 'ExternalName' }), 'the Service is of type ExternalName'],
    [aService({ selector: {} }), 'the Service has no selector'],
  ])('says of every workload that the Service gets no slices (B1)', (service, why) => {
    const explained = explainService(service, [aWorkload('vm-1'), aWorkload('vm-2')], OPTIONS);
    expect(explained.noSlicesBecause).toBe(why);
    expect(explained.workloads.map(({ summary }) => summary)).toEqual([
      `out: ${why}`,
      `out: ${why}`,
    ]);
  });

  it('is sorted by name, and agrees with the plan', () => {
    const all = [
      aWorkload('vm-3', { ips: ['fd00::1'] }),
      aWorkload('vm-2', { ready: false }),
      aWorkload('vm-1'),
    ];
    const { workloads } = explainService(aService(), all, OPTIONS);
    expect(workloads.map(({ workload }) => workload)).toEqual(['vm-1', 'vm-2', 'vm-3']);
    const planned = plan({ workloads: all });
    expect(workloads.filter(({ included }) => included).map(({ workload }) => workload)).toEqual(
      endpoints(planned).map(({ targetRef }) => targetRef?.name),
    );
    expect(workloads.flatMap(({ leftOut }) => leftOut)).toEqual(planned.leftOut);
  });
});
