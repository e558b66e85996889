import { describe, expect, it } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  generationOf,
  mergePatch,
  readySlicesOf,
  servicePath,
  slicesOf,
  workloadPath,
  type WorkloadInput,
} from '../support/objects.ts';
import { upRig } from '../support/up-rig.ts';
import { warned, warningsIn } from '../support/warnings.ts';
import { complaintsOf } from '../support/processes.ts';

const rig = upRig('ports', ['--log-format', 'json']);

const TCP = 'TCP';
const UDP = 'UDP';

/** A Service whose ports are these, for the workloads that `vm` makes. */
const web = (...ports: object[]): Promise<unknown> =>
  createService(rig.ns, 'web', { spec: { ports } });
const repoint = (...ports: object[]): Promise<unknown> =>
  mergePatch(servicePath(rig.ns, 'web'), { spec: { ports } });
const vm = (name: string, ip: string, ...ports: object[]): Promise<unknown> => {
  const input: WorkloadInput = { ips: [ip], ports };
  return createWorkload(rig.ns, name, 'web', input);
};
const relisten = (name: string, ...ports: object[]): Promise<unknown> =>
  mergePatch(workloadPath(rig.ns, name), { spec: { ports } });

/** `ADDRESS NAME:NUMBER/PROTOCOL[/APP] …` of each endpoint, sorted: what a proxy would dial. */
async function offered(): Promise<string[]> {
  const slices = await readySlicesOf(rig.ns, 'web');
  const lines = slices.flatMap(({ ports, endpoints }) => {
    const each = (ports ?? []).map(({ name, port, protocol, appProtocol }) =>
      [`${name}:${port}`, protocol, ...(appProtocol ? [appProtocol] : [])].join('/'),
    );
    return (endpoints ?? []).map(({ addresses }) => [...(addresses ?? []), ...each].join(' '));
  });
  return lines.sort();
}

const offersBecome = (...expected: string[]): Promise<void> =>
  eventually(async () => expect(await offered()).toEqual(expected));

describe('a targetPort that is a name', () => {
  it('is each workload’s own number: a slice for each, and no endpoint with another’s (report 42, 49)', async () => {
    await web({ name: 'api', port: 80, targetPort: 'api' });
    await vm('vm-j', '192.0.2.1', { name: 'api', port: 8083 });
    await vm('vm-k', '192.0.2.2', { name: 'api', port: 8087 });
    await vm('vm-l', '192.0.2.3', { name: 'api', port: 8083 });
    await offersBecome(
      '192.0.2.1 api:8083/TCP',
      '192.0.2.2 api:8087/TCP',
      '192.0.2.3 api:8083/TCP',
    );
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(2);
    // And moves with its workload, slice by slice.
    await relisten('vm-l', { name: 'api', port: 8087 });
    await offersBecome(
      '192.0.2.1 api:8083/TCP',
      '192.0.2.2 api:8087/TCP',
      '192.0.2.3 api:8087/TCP',
    );
    await relisten('vm-j', { name: 'api', port: 8087 });
    await eventually(async () => expect(await slicesOf(rig.ns, 'web')).toHaveLength(1));
    await offersBecome(
      '192.0.2.1 api:8087/TCP',
      '192.0.2.2 api:8087/TCP',
      '192.0.2.3 api:8087/TCP',
    );
  });

  it('that a workload does not have leaves it out, and nobody is sent to port 0 (report 43)', async () => {
    await web({ port: 80, targetPort: 'web' });
    await vm('vm-h', '192.0.2.1', { name: 'admin', port: 9090 });
    await vm('vm-i', '192.0.2.2', { name: 'web', port: 8080 });
    await offersBecome('192.0.2.2 :8080/TCP');
    await relisten('vm-h', { name: 'admin', port: 9090 }, { name: 'web', port: 8081 });
    await offersBecome('192.0.2.1 :8081/TCP', '192.0.2.2 :8080/TCP');
    await relisten('vm-i', { name: 'admin', port: 8080 });
    await offersBecome('192.0.2.1 :8081/TCP');
    // With nobody left there is no slice, rather than one without ports or endpoints.
    await mergePatch(workloadPath(rig.ns, 'vm-h'), { spec: { ports: null } });
    await rig.noSlices('web');
    await rig.afterwards();
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
    expect(await warningsIn(rig.ns)).toEqual([]);
  });

  it('that a workload has twice is the first of them in its order, and its owner is warned (report 46)', async () => {
    await web({ name: 'http', port: 80, targetPort: 'http' });
    const [first, second] = [
      { name: 'http', port: 8080, protocol: TCP },
      { name: 'http', port: 8081, protocol: TCP },
    ];
    await vm('vm', '192.0.2.1', first, second);
    await offersBecome('192.0.2.1 http:8080/TCP');
    await warned(rig.ns, 'vm', 'PortNameAmbiguous', '"http" (TCP) is 8080 and 8081');
    await relisten('vm', second, first);
    await offersBecome('192.0.2.1 http:8081/TCP');
    // One that nobody asks for by name is nobody's business; nor is the same number twice.
    await vm(
      'other',
      '192.0.2.2',
      { name: 'http', port: 80 },
      { name: 'http', port: 80 },
      { name: 'x', port: 1 },
      { name: 'x', port: 2 },
    );
    await offersBecome('192.0.2.1 http:8081/TCP', '192.0.2.2 http:80/TCP');
    expect(await warningsIn(rig.ns)).toEqual(['PortNameAmbiguous vm']);
  });

  it('is looked up by protocol as well (report 47)', async () => {
    await web(
      { name: 'dns-u', port: 53, protocol: UDP, targetPort: 'dns' },
      { name: 'dns-t', port: 53, protocol: TCP, targetPort: 'dns' },
    );
    await vm('sctp', '192.0.2.4', { name: 'dns', port: 5302, protocol: 'SCTP' });
    await vm(
      'both',
      '192.0.2.1',
      { name: 'dns', port: 53, protocol: UDP },
      { name: 'dns', port: 5353, protocol: TCP },
    );
    // A missing protocol is TCP, for workloads and for Services.
    await vm('plain', '192.0.2.2', { name: 'dns', port: 5300 });
    await vm('udp', '192.0.2.3', { name: 'dns', port: 5301, protocol: UDP });
    await offersBecome(
      '192.0.2.1 dns-u:53/UDP dns-t:5353/TCP',
      '192.0.2.2 dns-t:5300/TCP',
      '192.0.2.3 dns-u:5301/UDP',
    );
    expect(await warningsIn(rig.ns)).toEqual([]);
  });

  it('is not the name of the Service port, which is what the slice has (report 45)', async () => {
    await web({ name: 'metrics-collector-internal', port: 80, targetPort: 'm' });
    await vm('vm', '192.0.2.1', { name: 'm', port: 9000 });
    await offersBecome('192.0.2.1 metrics-collector-internal:9000/TCP');
    const longest = 'p'.repeat(63);
    await repoint({ name: longest, port: 80, targetPort: 'm' });
    await offersBecome(`192.0.2.1 ${longest}:9000/TCP`);
    // A workload's own names may be longer still, and anything at all.
    await relisten('vm', { name: 'Not A Name! '.repeat(20), port: 1 }, { name: 'm', port: 9001 });
    await offersBecome(`192.0.2.1 ${longest}:9001/TCP`);
  });

  it('minds its case, and is not mistaken for a number', async () => {
    await web({ name: 'a', port: 80, targetPort: 'http' }, { name: 'b', port: 81, targetPort: 82 });
    await vm('upper', '192.0.2.1', { name: 'HTTP', port: 8080 }, { name: '82', port: 8282 });
    await vm('lower', '192.0.2.2', { name: 'http', port: 8080 });
    await offersBecome('192.0.2.2 a:8080/TCP');
  });
});

describe('a targetPort that is a number', () => {
  it('is taken as it is: who does not declare it is left out, and that is said (report 42)', async () => {
    await web({ port: 80, targetPort: 5000 });
    await vm('vm', '192.0.2.1', { port: 9001 });
    await vm('right', '192.0.2.2', { name: 'any', port: 5000 });
    await offersBecome('192.0.2.2 :5000/TCP');
    const why = `None of the ports of Service web is in the workload's spec.ports: the port needs number 5000 (TCP).`;
    await rig.tether.untilLog(new RegExp(`"${rig.ns}/web".*"vm".*${RegExp.escape(why)}`));
    const [, url] = await rig.tether.untilLog(/"url":"(http:[^"]+)"/);
    const answer = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
    expect(await answer.text()).toMatch(
      /^tether_left_out_workloads\{reason="no-port-resolves"\} [1-9]/m,
    );
    await relisten('vm', { port: 9001 }, { port: 5000 });
    await offersBecome('192.0.2.1 :5000/TCP', '192.0.2.2 :5000/TCP');
  });

  it('wants the protocol as well (report 47)', async () => {
    await web({ port: 53, protocol: UDP, targetPort: 53 });
    await vm('tcp', '192.0.2.1', { port: 53 });
    await vm('udp', '192.0.2.2', { port: 53, protocol: UDP });
    await vm('both', '192.0.2.3', { port: 53 }, { port: 53, protocol: UDP });
    await offersBecome('192.0.2.2 :53/UDP', '192.0.2.3 :53/UDP');
  });

  it.each([
    ['absent', undefined],
    ['0', 0],
    ['empty', ''],
  ])('and is %s is the number of the Service port', async (_what, targetPort) => {
    await web({ port: 8080, ...(targetPort === undefined ? {} : { targetPort }) });
    await vm('vm', '192.0.2.1', { name: 'http', port: 8080 });
    await offersBecome('192.0.2.1 :8080/TCP');
  });

  it('finds the port under whatever names it has, or none', async () => {
    await web({ port: 80, targetPort: 8080 });
    await vm('twice', '192.0.2.1', { name: 'a', port: 8080 }, { name: 'b', port: 8080 });
    await vm('unnamed', '192.0.2.2', { port: 8080 });
    await vm('empty', '192.0.2.3', { name: '', port: 8080 });
    await offersBecome('192.0.2.1 :8080/TCP', '192.0.2.2 :8080/TCP', '192.0.2.3 :8080/TCP');
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    expect(await warningsIn(rig.ns)).toEqual([]);
  });
});

describe('the ports of a Service', () => {
  const http = { name: 'http', port: 80, targetPort: 'http' };
  const admin = { name: 'admin', port: 81, targetPort: 'admin' };

  it('that change their number lead to the new one alone (report 41)', async () => {
    await web({ port: 80 });
    await vm('vm', '192.0.2.1', { port: 80 }, { port: 8090 });
    await offersBecome('192.0.2.1 :80/TCP');
    await repoint({ port: 8090 });
    await offersBecome('192.0.2.1 :8090/TCP');
    await repoint({ port: 80, targetPort: 8090 });
    await rig.afterwards();
    expect(await offered()).toEqual(['192.0.2.1 :8090/TCP']);
    // One that nobody listens at leaves nothing of the former ones.
    await repoint({ port: 81 });
    await rig.noSlices('web');
    await repoint({ port: 80 });
    await offersBecome('192.0.2.1 :80/TCP');
  });

  it('of which one goes leave no group of the old ones (report 50)', async () => {
    await web({ name: 'a', port: 8000 }, { name: 'b', port: 8001 });
    await vm('both', '192.0.2.1', { port: 8000 }, { port: 8001 });
    await vm('one', '192.0.2.2', { port: 8001 });
    await offersBecome('192.0.2.1 a:8000/TCP b:8001/TCP', '192.0.2.2 b:8001/TCP');
    await repoint({ name: 'a', port: 8000 });
    await offersBecome('192.0.2.1 a:8000/TCP');
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    await repoint({ name: 'b', port: 8001 });
    await offersBecome('192.0.2.1 b:8001/TCP', '192.0.2.2 b:8001/TCP');
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
  });

  it('that several workloads have in part make a slice for each part (report 49)', async () => {
    await web(http, admin);
    await vm('none', '192.0.2.4', { name: 'x', port: 1 });
    await vm('both', '192.0.2.1', { name: 'http', port: 8080 }, { name: 'admin', port: 9090 });
    await vm('http', '192.0.2.2', { name: 'http', port: 8080 });
    await vm('admin', '192.0.2.3', { name: 'admin', port: 9090 });
    await offersBecome(
      '192.0.2.1 http:8080/TCP admin:9090/TCP',
      '192.0.2.2 http:8080/TCP',
      '192.0.2.3 admin:9090/TCP',
    );
    await relisten('http', { name: 'http', port: 8080 }, { name: 'admin', port: 9090 });
    await offersBecome(
      '192.0.2.1 http:8080/TCP admin:9090/TCP',
      '192.0.2.2 http:8080/TCP admin:9090/TCP',
      '192.0.2.3 admin:9090/TCP',
    );
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(2);
  });

  it('may all lead to one port of a workload', async () => {
    await web(http, { name: 'alt', port: 81, targetPort: 8080 }, { name: 'low', port: 8080 });
    await vm('vm', '192.0.2.1', { name: 'http', port: 8080 });
    await offersBecome('192.0.2.1 http:8080/TCP alt:8080/TCP low:8080/TCP');
  });

  it('that change protocol, name or application protocol are followed in the same slice (report 41)', async () => {
    await web({ port: 80, targetPort: 8080 });
    await vm('vm', '192.0.2.1', { port: 8080 }, { port: 8080, protocol: UDP }, SCTP_8080);
    await offersBecome('192.0.2.1 :8080/TCP');
    const before = await rig.onlySlice('web');
    await repoint({ name: 'named', port: 80, targetPort: 8080 });
    await offersBecome('192.0.2.1 named:8080/TCP');
    await repoint({ name: 'named', port: 80, targetPort: 8080, protocol: UDP });
    await offersBecome('192.0.2.1 named:8080/UDP');
    await repoint({ name: 'named', port: 80, targetPort: 8080, protocol: 'SCTP' });
    await offersBecome('192.0.2.1 named:8080/SCTP');
    await repoint({ port: 80, targetPort: 8080, appProtocol: 'kubernetes.io/h2c' });
    await offersBecome('192.0.2.1 :8080/TCP/kubernetes.io/h2c');
    await repoint({ port: 80, targetPort: 8080, appProtocol: 'https' });
    await offersBecome('192.0.2.1 :8080/TCP/https');
    await repoint({ port: 80, targetPort: 8080 });
    await offersBecome('192.0.2.1 :8080/TCP');
    expect((await rig.onlySlice('web')).metadata?.uid).toBe(before.metadata?.uid);
  });

  it('that are put in another order, or get another nodePort, cost no write', async () => {
    await createService(rig.ns, 'web', { spec: { type: 'NodePort', ports: [http, admin] } });
    await vm('vm', '192.0.2.1', { name: 'http', port: 8080 }, { name: 'admin', port: 9090 });
    await offersBecome('192.0.2.1 http:8080/TCP admin:9090/TCP');
    const before = await rig.onlySlice('web');
    await repoint(admin, http);
    await mergePatch(servicePath(rig.ns, 'web'), { spec: { type: 'ClusterIP' } });
    await mergePatch(servicePath(rig.ns, 'web'), { spec: { type: 'NodePort' } });
    await mergePatch(servicePath(rig.ns, 'web'), { spec: { type: 'LoadBalancer' } });
    await mergePatch(servicePath(rig.ns, 'web'), { spec: { sessionAffinity: 'ClientIP' } });
    await relisten('vm', { name: 'admin', port: 9090 }, { name: 'http', port: 8080 });
    await rig.afterwards();
    expect(await rig.onlySlice('web')).toEqual(before);
  });

  it('of a hundred, by SCTP, all reach the slice', async () => {
    const many = Array.from({ length: 100 }, (_, at) => ({ name: `p${at}`, port: 1000 + at }));
    await web(...many.map((port) => ({ ...port, protocol: 'SCTP' })));
    await vm('vm', '192.0.2.1', ...many.map(({ port }) => ({ port, protocol: 'SCTP' })));
    await offersBecome(
      ['192.0.2.1', ...many.map(({ name, port }) => `${name}:${port}/SCTP`)].join(' '),
    );
  });
});

const SCTP_8080 = { port: 8080, protocol: 'SCTP' };

describe('the ports of a workload', () => {
  it('that go, come and change number are followed, in the same slice (report 41, 50)', async () => {
    await web({ name: 'http', port: 80, targetPort: 'http' });
    await vm('vm', '192.0.2.1', { name: 'http', port: 8080 });
    await offersBecome('192.0.2.1 http:8080/TCP');
    const before = await rig.onlySlice('web');
    await relisten('vm', { name: 'http', port: 8081 });
    await offersBecome('192.0.2.1 http:8081/TCP');
    const after = await rig.onlySlice('web');
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    expect(generationOf(after)).toBe(generationOf(before) + 1);
    await relisten('vm', { name: 'other', port: 8081 });
    await rig.noSlices('web');
    await relisten('vm', { name: 'other', port: 8081 }, { name: 'http', port: 8081 });
    await offersBecome('192.0.2.1 http:8081/TCP');
  });

  it('of a protocol that there is not answer to no Service, and hurt nobody', async () => {
    await web({ port: 80, targetPort: 8080 });
    await vm('lower', '192.0.2.1', { port: 8080, protocol: 'tcp' });
    await vm('word', '192.0.2.2', { port: 8080, protocol: 'carrier pigeon' });
    await vm('right', '192.0.2.3', { port: 8080, protocol: TCP });
    await offersBecome('192.0.2.3 :8080/TCP');
  });

  it('that only one Service has reach that one, under its own names (report 42)', async () => {
    await web({ name: 'a', port: 80, targetPort: 'http' });
    const spec = { selector: { app: 'web' }, ports: [{ name: 'b', port: 9, targetPort: 9090 }] };
    await createService(rig.ns, 'other', { spec });
    await vm('vm', '192.0.2.1', { name: 'http', port: 8080 }, { name: 'x', port: 9090 });
    await offersBecome('192.0.2.1 a:8080/TCP');
    const other = await rig.sliceBecomes('other', ['192.0.2.1 9090 ready']);
    expect(other.ports).toEqual([{ name: 'b', port: 9090, protocol: TCP }]);
  });
});

it('what the API server itself refuses: a targetPort of digits alone, a Service without ports', async () => {
  const post = (spec: object): Promise<unknown> =>
    apiOk('POST', `/api/v1/namespaces/${rig.ns}/services`, { metadata: { name: 'web' }, spec });
  const digits = { ports: [{ port: 80, targetPort: '8080' }] };
  await expect(post(digits)).rejects.toThrow('must contain at least one letter');
  await expect(post({ ports: [] })).rejects.toThrow('spec.ports: Required value');
});

it('none of this was an error', () => {
  expect(complaintsOf(rig.tether)).toEqual([]);
});
