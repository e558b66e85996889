import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  generationOf,
  mergePatch,
  readySlicesOf,
  remove,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { upRig } from '../support/up-rig.ts';
import { warned, warningsIn } from '../support/warnings.ts';
import { complaintsOf } from '../support/processes.ts';

const rig = upRig('addresses', ['--log-format', 'json']);

const DUAL = { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] };

const vm = (name: string, ...ips: string[]): Promise<unknown> =>
  createWorkload(rig.ns, name, 'web', { ips });
const readdress = (name: string, ...ips: string[]): Promise<unknown> =>
  mergePatch(workloadPath(rig.ns, name), { spec: { workloadIPs: ips.map((ip) => ({ ip })) } });
const ready = (...ips: string[]): string[] => ips.map((ip) => `${ip} 8080 ready`).sort();

/** Addresses with the workload that each belongs to, sorted. */
async function owners(namespace: string): Promise<string[]> {
  const slices = await readySlicesOf(namespace, 'web');
  return slices
    .flatMap(({ ports, endpoints }) =>
      (endpoints ?? []).map(
        ({ addresses, targetRef }) => `${addresses?.join()}:${ports?.[0]?.port} ${targetRef?.name}`,
      ),
    )
    .sort();
}

const ownersBecome = (...expected: string[]): Promise<void> =>
  eventually(async () => expect(await owners(rig.ns)).toEqual(expected));

describe('an address that no slice may hold', () => {
  it('is left out alone, whichever Service it is in, and both log and metric say so (report 55)', async () => {
    await createService(rig.ns, 's1', { spec: { selector: { in: 's1' } } });
    await createService(rig.ns, 's2', { spec: { selector: { in: 's2' } } });
    const of = (service: string, ip: string): object => ({ ips: [ip], labels: { in: service } });
    await createWorkload(rig.ns, 'vm-l', 'x', of('s1', '169.254.10.5'));
    await createWorkload(rig.ns, 'vm-m', 'x', of('s1', '10.20.0.100'));
    await createWorkload(rig.ns, 'vm-z', 'x', of('s2', '10.20.0.101'));
    await rig.endpointsBecome('s1', ready('10.20.0.100'));
    await rig.endpointsBecome('s2', ready('10.20.0.101'));
    await warned(rig.ns, 'vm-l', 'AddressRefused', '"169.254.10.5" is a link-local address');
    await rig.tether.untilLog(new RegExp(`"${rig.ns}/s1".*"vm-l".*"address-refused"`));
    const [, url] = await rig.tether.untilLog(/"url":"(http:[^"]+)"/);
    const answer = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
    expect(await answer.text()).toMatch(
      /^tether_left_out_workloads\{reason="address-refused"\} [1-9]/m,
    );
  });

  it('leaves no slice where nobody has another, and none behind that others had (report 55)', async () => {
    await createService(rig.ns, 'web');
    await vm('a', '127.0.0.1');
    await vm('b', '0.0.0.0', 'fe80::1');
    await warned(rig.ns, 'a', 'AddressRefused', 'loopback');
    await warned(rig.ns, 'b', 'AddressRefused', 'unspecified');
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
    await readdress('a', '10.20.0.1');
    await rig.endpointsBecome('web', ready('10.20.0.1'));
    // Once it is bad the old one must not stay: it may be somebody else's by now.
    await readdress('a', '224.0.0.1');
    await rig.noSlices('web');
    await warned(rig.ns, 'a', 'AddressRefused', '"224.0.0.1" is a multicast address');
    // A hole in the address book is not a fault.
    await readdress('a');
    await readdress('b', '10.20.0.2');
    await rig.endpointsBecome('web', ready('10.20.0.2'));
  });

  it('takes no other address of its workload along, first or second (report 55)', async () => {
    await createService(rig.ns, 'web', { spec: { selector: { app: 'web' }, ...DUAL } });
    await vm('a', '10.20.0.1', 'fd00:20::1');
    await rig.endpointsBecome('web', ready('10.20.0.1', 'fd00:20::1'));
    await readdress('a', '10.20.0.1', 'fe80::1');
    await rig.endpointsBecome('web', ready('10.20.0.1'));
    await readdress('a', 'ff02::1', '10.20.0.1');
    await warned(rig.ns, 'a', 'AddressRefused', '"ff02::1" is a multicast address');
    await readdress('a', '256.1.1.1', 'fd00:20::1');
    await rig.endpointsBecome('web', ready('fd00:20::1'));
    await warned(rig.ns, 'a', 'AddressRefused', '"256.1.1.1" is not an IP address');
    await readdress('a', 'vm.example.net', '10.20.0.1');
    await rig.endpointsBecome('web', ready('10.20.0.1'));
  });

  it('is told from one that is merely odd: those the API server takes, all in one slice (D1)', async () => {
    const odd4 = [
      '0.1.2.3',
      '100.64.0.1',
      '192.0.2.255',
      '198.18.0.1',
      '240.0.0.1',
      '255.255.255.255',
    ];
    const odd6 = [
      '100::1',
      '2001::1',
      '2002::1',
      '64:ff9b::1',
      '::2',
      '::c000:201',
      'fec0::1',
      'ff::1',
    ];
    await createService(rig.ns, 'web', { spec: { selector: { app: 'web' }, ...DUAL } });
    await Promise.all([...odd4, ...odd6].map((ip, at) => vm(`vm-${at}`, ip)));
    await rig.endpointsBecome('web', ready(...odd4, ...odd6));
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(2);
    expect(await warningsIn(rig.ns)).toEqual([]);
  });
});

describe('an address that belongs to two workloads', () => {
  it('of two namespaces is an endpoint in each, and goes with its own workload (report 57)', async () => {
    const a = rig.ns;
    const b = await freshNamespace('addresses');
    const shared = '10.20.0.110';
    for (const [namespace, name, port] of [
      [a, 'vm-n', 8081],
      [b, 'vm-o', 8082],
    ] as const) {
      const ports = [{ name: 'http', port: 80, targetPort: 'http' }];
      await createService(namespace, 'web', { spec: { ports } });
      await createWorkload(namespace, name, 'web', {
        ips: [shared],
        ports: [{ name: 'http', port }],
      });
    }
    await eventually(async () => expect(await owners(a)).toEqual([`${shared}:8081 vm-n`]));
    await eventually(async () => expect(await owners(b)).toEqual([`${shared}:8082 vm-o`]));
    const before = await slicesOf(b, 'web');
    await remove(workloadPath(a, 'vm-n'));
    await rig.noSlices('web');
    expect(await slicesOf(b, 'web')).toEqual(before);
  });

  it('of one Service is an endpoint of each, with other ports too, and goes with its own (report 57)', async () => {
    const ports = [{ name: 'http', port: 80, targetPort: 'http' }];
    await createService(rig.ns, 'web', { spec: { ports } });
    const listen = (name: string, port: number): Promise<unknown> =>
      createWorkload(rig.ns, name, 'web', {
        ips: ['10.20.0.110'],
        ports: [{ name: 'http', port }],
      });
    await listen('a', 8081);
    await listen('b', 8081);
    await listen('c', 8082);
    await ownersBecome('10.20.0.110:8081 a', '10.20.0.110:8081 b', '10.20.0.110:8082 c');
    await remove(workloadPath(rig.ns, 'a'));
    await ownersBecome('10.20.0.110:8081 b', '10.20.0.110:8082 c');
    await remove(workloadPath(rig.ns, 'c'));
    await ownersBecome('10.20.0.110:8081 b');
  });

  it.each(['deleted first', 'created first'])(
    'one after the other (%s) is the later one’s (report 57)',
    async (order) => {
      await createService(rig.ns, 'web');
      await vm('p', '10.20.0.120');
      await vm('other', '10.20.0.121');
      await ownersBecome('10.20.0.120:8080 p', '10.20.0.121:8080 other');
      const steps = [() => remove(workloadPath(rig.ns, 'p')), () => vm('q', '10.20.0.120')];
      for (const step of order === 'deleted first' ? steps : steps.toReversed()) await step();
      await ownersBecome('10.20.0.120:8080 q', '10.20.0.121:8080 other');
    },
  );

  it('because they swap theirs in one moment is each one’s new one (report 57)', async () => {
    await createService(rig.ns, 'web');
    await vm('a', '10.20.0.1');
    await vm('b', '10.20.0.2');
    await ownersBecome('10.20.0.1:8080 a', '10.20.0.2:8080 b');
    await Promise.all([readdress('a', '10.20.0.2'), readdress('b', '10.20.0.1')]);
    await ownersBecome('10.20.0.1:8080 b', '10.20.0.2:8080 a');
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
  });

  it('because one was made anew under its name is the new one’s, by its UID (report 57)', async () => {
    await createService(rig.ns, 'web');
    const first = (await vm('vm', '10.20.0.1')) as { metadata: { uid: string } };
    const before = await rig.sliceBecomes('web', ready('10.20.0.1'));
    expect(before.endpoints?.[0]?.targetRef?.uid).toBe(first.metadata.uid);
    // Nobody sees what is between the two: all that is left of the change is the UID.
    rig.tether.freeze();
    await remove(workloadPath(rig.ns, 'vm'));
    const second = (await vm('vm', '10.20.0.1')) as { metadata: { uid: string } };
    rig.tether.thaw();
    await eventually(async () => {
      const { endpoints } = await rig.onlySlice('web');
      expect(endpoints?.map(({ targetRef }) => targetRef?.uid)).toEqual([second.metadata.uid]);
      expect(await endpointsOf(rig.ns, 'web')).toEqual(ready('10.20.0.1'));
    });
  });
});

it('an address that is edited is one write of one slice', async () => {
  await createService(rig.ns, 'web');
  await vm('a', '10.20.0.1');
  await vm('b', '10.20.0.2');
  const before = await rig.sliceBecomes('web', ready('10.20.0.1', '10.20.0.2'));
  await readdress('a', '10.20.0.3');
  const after = await rig.sliceBecomes('web', ready('10.20.0.2', '10.20.0.3'));
  expect(after.metadata?.uid).toBe(before.metadata?.uid);
  expect(generationOf(after)).toBe(generationOf(before) + 1);
});

it('none of this was an error', () => {
  expect(complaintsOf(rig.tether)).toEqual([]);
});
