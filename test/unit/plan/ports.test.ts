import { describe, expect, it } from '@jest/globals';
import type { WorkloadPortRecord } from '../../../core/records.ts';
import { portMapKey } from '../../../functions/plan/ports.ts';
import { aPort, aService, aWorkload, plan, sliceOf, workloads } from './support/builders.ts';
import { counts, ids, onlySlice, reasons, sizes, written } from './support/reading.ts';

const port = (name: string, number: number, protocol: 'TCP' | 'UDP' = 'TCP') => ({
  name,
  port: number,
  protocol,
});
const declaring = (name: string, ...ports: WorkloadPortRecord[]) => aWorkload(name, { ports });

describe('the ports of a slice', () => {
  it('publishes a headless Service without ports with an empty list (E1)', () => {
    const service = aService({ clusterIP: 'None', ports: [] });
    const one = declaring('vm-1');
    const slice = onlySlice(plan({ service, workloads: [one] }));
    expect(slice.ports).toEqual([]);
    expect(slice.endpoints).toHaveLength(1);
    const stored = {
      ...sliceOf('web-1', []),
      labels: slice.labels,
      ports: [],
      endpoints: slice.endpoints,
    };
    expect(plan({ service, workloads: [one], slices: [stored] }).writes).toEqual([]);
  });

  it('publishes nothing of any other Service without ports (E1)', () => {
    const result = plan({ service: aService({ ports: [] }), workloads: [aWorkload('vm-1')] });
    expect(result.writes).toEqual([]);
    expect(reasons(result)).toEqual(['vm-1: no-port-resolves']);
  });

  it('matches a named target by name and protocol (E2)', () => {
    const service = aService({
      ports: [
        aPort({ name: 'dns-u', protocol: 'UDP', targetPort: 'dns' }),
        aPort({ name: 'dns-t', targetPort: 'dns' }),
      ],
    });
    const one = declaring('vm-1', port('dns', 53, 'UDP'), port('dns', 5353));
    const result = plan({ service, workloads: [one] });
    expect(onlySlice(result).ports).toEqual([port('dns-u', 53, 'UDP'), port('dns-t', 5353)]);
    expect(result.leftOut).toEqual([]);
  });

  it('takes the first of two ports of one name, and their author is told (E2)', () => {
    const one = declaring('vm-1', port('http', 8080), port('http', 8081));
    const result = plan({ workloads: [one] });
    expect(onlySlice(result).ports).toEqual([port('http', 8080)]);
    expect(result.leftOut).toMatchObject([{ reason: 'port-name-ambiguous', warn: true }]);
    expect(result.leftOut[0]?.detail).toContain(
      '"http" (TCP) is 8080 and 8081, of which 8080 is used',
    );
  });

  it('does not call it ambiguous when nobody asks for that name, or both are one number (E2)', () => {
    const unasked = declaring('vm-1', port('http', 1), port('x', 2), port('x', 3));
    const same = declaring(
      'vm-2',
      port('http', 8080),
      port('http', 8080),
      port('http', 8080, 'UDP'),
    );
    expect(plan({ workloads: [unasked, same] }).leftOut).toEqual([]);
  });

  it('takes a number only where the workload declares it, with its protocol (E2)', () => {
    const service = aService({ ports: [aPort({ targetPort: 5000 })] });
    const result = plan({
      service,
      workloads: [
        declaring('vm-1', port('x', 5000)),
        declaring('vm-2', port('x', 5000, 'UDP')),
        declaring('vm-3', port('http', 9001)),
      ],
    });
    expect(onlySlice(result).ports).toEqual([port('http', 5000)]);
    expect(onlySlice(result).endpoints.map(({ targetRef }) => targetRef?.name)).toEqual(['vm-1']);
    expect(reasons(result)).toEqual(['vm-2: no-port-resolves', 'vm-3: no-port-resolves']);
    expect(result.leftOut[1]?.detail).toContain('port "http" needs number 5000 (TCP)');
    expect(result.leftOut.some(({ warn }) => warn)).toBe(false);
  });

  it('takes a number as it is where undeclared ports are allowed, names never (E2)', () => {
    const service = aService({
      ports: [aPort({ targetPort: 5000 }), aPort({ name: 'b', targetPort: 'b' })],
    });
    const result = plan({
      service,
      workloads: [declaring('vm-1')],
      options: { undeclaredPorts: 'allow' },
    });
    expect(onlySlice(result).ports).toEqual([port('http', 5000)]);
    expect(reasons(result)).toEqual(['vm-1: port-unresolved']);
  });

  it.each([null, 0, ''])(
    'takes a targetPort of %j for the number of the Service port (E2)',
    (targetPort) => {
      const service = aService({ ports: [aPort({ targetPort })] });
      const result = plan({ service, workloads: [declaring('vm-1', port('x', 80))] });
      expect(onlySlice(result).ports).toEqual([port('http', 80)]);
    },
  );

  it('follows a Service port that was edited (E2)', () => {
    const service = aService({ ports: [aPort({ port: 8090, targetPort: 8090 })] });
    const one = declaring('vm-1', port('x', 8090));
    const result = plan({ service, workloads: [one], slices: [sliceOf('web-1', [one])] });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(onlySlice(result).ports).toEqual([port('http', 8090)]);
  });

  it('never emits port 0 (E3, E4)', () => {
    const service = aService({ ports: [aPort(), aPort({ name: 'b', targetPort: 'b' })] });
    const result = plan({
      service,
      workloads: [
        declaring('vm-h', port('admin', 1)),
        declaring('vm-i', port('http', 0), port('b', 7)),
      ],
    });
    expect(written(result).map(({ ports }) => ports)).toEqual([[port('b', 7)]]);
  });

  it('leaves one port out for the workload that lacks it, and not for the others (E3)', () => {
    const service = aService({ ports: [aPort(), aPort({ name: 'admin', targetPort: 'admin' })] });
    const both = declaring('vm-1', port('http', 8080), port('admin', 9090));
    const half = declaring('vm-2', port('http', 8080));
    const result = plan({ service, workloads: [both, half] });
    expect(
      written(result)
        .map(({ ports }) => ports.length)
        .sort((a, b) => String(a).localeCompare(String(b))),
    ).toEqual([1, 2]);
    expect(result.leftOut).toMatchObject([
      { workload: 'vm-2', reason: 'port-unresolved', warn: false },
    ]);
    expect(result.leftOut[0]?.detail).toContain('port "admin" needs name "admin" (TCP)');
  });

  it('gives one reason, not two, when no port resolves (E3)', () => {
    const service = aService({ ports: [aPort(), aPort({ name: 'b', targetPort: 'b' })] });
    expect(reasons(plan({ service, workloads: [declaring('vm-1')] }))).toEqual([
      'vm-1: no-port-resolves',
    ]);
  });

  it('carries the name of the SERVICE port, however long, and its appProtocol (E4)', () => {
    const name = 'metrics-collector-internal';
    const service = aService({ ports: [aPort({ name, appProtocol: 'kubernetes.io/h2c' })] });
    expect(onlySlice(plan({ service, workloads: [aWorkload('vm-1')] })).ports).toEqual([
      { name, port: 8080, protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' },
    ]);
  });

  it('writes nothing for an unnamed port that the server stored as "" (E4, H3)', () => {
    const service = aService({ ports: [aPort({ name: '' })] });
    const one = aWorkload('vm-1');
    const slices = [sliceOf('web-1', [one], { ports: [port('', 8080)] })];
    expect(plan({ service, workloads: [one], slices }).writes).toEqual([]);
  });

  it('writes when only the appProtocol changed (E4)', () => {
    const service = aService({ ports: [aPort({ appProtocol: 'http' })] });
    const one = aWorkload('vm-1');
    expect(ids(plan({ service, workloads: [one], slices: [sliceOf('web-1', [one])] }))).toEqual([
      'update/web-1',
    ]);
  });

  it('does not mind the order of ports (E4)', () => {
    const [a, b] = [port('a', 1), port('b', 2)];
    expect(portMapKey([a, b])).toBe(portMapKey([b, a]));
    expect(portMapKey([a])).not.toBe(portMapKey([b]));
    expect(portMapKey([{ ...a, port: null }])).not.toBe(portMapKey([a]));
    const service = aService({
      ports: [aPort({ name: 'a', targetPort: 'a' }), aPort({ name: 'b', targetPort: 'b' })],
    });
    const one = declaring('vm-1', a, b);
    const slices = [sliceOf('web-1', [one], { ports: [b, a] })];
    expect(plan({ service, workloads: [one], slices }).writes).toEqual([]);
  });

  it('pairs each endpoint with its own number: one slice a port set (E2, F1)', () => {
    const result = plan({
      workloads: [declaring('vm-j', port('http', 8083)), declaring('vm-k', port('http', 8087))],
    });
    expect(
      written(result)
        .map(({ ports, endpoints }) => [ports[0]?.port, endpoints[0]?.targetRef?.name])
        .sort((a, b) => String(a).localeCompare(String(b))),
    ).toEqual([
      [8083, 'vm-j'],
      [8087, 'vm-k'],
    ]);
  });

  it('takes the slice of a port that the Service lost away (F5)', () => {
    const service = aService({ ports: [aPort()] });
    const one = declaring('vm-1', port('http', 8080), port('b', 8001));
    const slices = [
      sliceOf('web-1', [one]),
      sliceOf('web-2', [one], { ports: [port('http', 8080), port('b', 8001)] }),
    ];
    expect(ids(plan({ service, workloads: [one], slices }))).toEqual(['delete/web-2']);
  });

  it('makes five slices of 60 of one name over five numbers (F8)', () => {
    const all = workloads(300).map((each, index) => ({
      ...each,
      ports: [port('http', 8080 + (index % 5))],
    }));
    const result = plan({ workloads: all });
    expect(counts(result)).toEqual({ create: 5, update: 0, delete: 0 });
    expect(sizes(result)).toEqual([60, 60, 60, 60, 60]);
    expect(new Set(written(result).map(({ ports }) => ports[0]?.port)).size).toBe(5);
  });
});
