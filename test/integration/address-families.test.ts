import { describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  exists,
  generationOf,
  mergePatch,
  readySlicesOf,
  remove,
  servicePath,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { TEST_MANAGER } from '../support/run.ts';
import { upRig } from '../support/up-rig.ts';
import { warned, warningsIn } from '../support/warnings.ts';
import { complaintsOf } from '../support/processes.ts';

const rig = upRig('families', ['--log-format', 'json']);

const V4 = { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] };
const V6 = { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv6'] };
const DUAL = { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] };
const HEADLESS = { clusterIP: 'None' };

const web = (spec: object): Promise<unknown> => createService(rig.ns, 'web', { spec: { ...spec } });
const respec = (spec: object): Promise<unknown> => mergePatch(servicePath(rig.ns, 'web'), { spec });
const vm = (name: string, ...ips: string[]): Promise<unknown> =>
  createWorkload(rig.ns, name, 'web', { ips });
const readdress = (name: string, ...ips: string[]): Promise<unknown> =>
  mergePatch(workloadPath(rig.ns, name), { spec: { workloadIPs: ips.map((ip) => ({ ip })) } });

const ready = (ips: readonly string[]): string[] => ips.map((ip) => `${ip} 8080 ready`).sort();

/** `FAMILY ADDRESS[,ADDRESS]` of each endpoint, those of IPv4 first. */
async function addressed(service = 'web'): Promise<string[]> {
  const slices = await readySlicesOf(rig.ns, service);
  return slices
    .flatMap(({ addressType, endpoints }) =>
      (endpoints ?? []).map(({ addresses }) => `${addressType} ${addresses?.join()}`),
    )
    .sort();
}

const addressesBecome = (...expected: string[]): Promise<void> =>
  eventually(async () => {
    expect(await addressed()).toEqual(expected);
    // No slice without endpoints is left behind.
    const full = (await slicesOf(rig.ns, 'web')).filter(({ endpoints }) => endpoints?.length);
    expect(full).toHaveLength((await slicesOf(rig.ns, 'web')).length);
  });

async function sliceOf(family: string): Promise<ApiEndpointSlice> {
  const found = (await slicesOf(rig.ns, 'web')).filter(({ addressType }) => addressType === family);
  expect(found).toHaveLength(1);
  return found[0] ?? {};
}

describe('a Service of one family', () => {
  it('gets the addresses of that family alone, whichever the workload names first (report 51)', async () => {
    const both = ['10.20.0.80', 'fd00:20::80'];
    const selector = { app: 'web' };
    await createService(rig.ns, 'six', { spec: { selector, ...V6 } });
    await createService(rig.ns, 'four', { spec: { selector, ...V4 } });
    await createService(rig.ns, 'head', { spec: { selector, ...V6, ...HEADLESS } });
    await vm('vm', ...both);
    await vm('turned', ...both.map((ip) => ip.replace('80', '81')).toReversed());
    for (const [service, expected] of [
      ['six', ['IPv6 fd00:20::80', 'IPv6 fd00:20::81']],
      ['head', ['IPv6 fd00:20::80', 'IPv6 fd00:20::81']],
      ['four', ['IPv4 10.20.0.80', 'IPv4 10.20.0.81']],
    ] as const) {
      await eventually(async () => expect(await addressed(service)).toEqual(expected));
      expect(await slicesOf(rig.ns, service)).toHaveLength(1);
    }
    expect(await warningsIn(rig.ns)).toEqual([]);
  });

  it.each([
    ['IPv4', V4, 'fd00:20::a1', '10.20.0.81'],
    ['IPv6', V6, '10.20.0.81', 'fd00:20::a1'],
  ])(
    '(%s) gets nothing of a workload of the other one, and no error (report 54)',
    async (family, spec, other, right) => {
      await web(spec);
      await vm('vm', other);
      await rig.tether.untilLog(
        new RegExp(`"${rig.ns}/web".*"vm".*Service web wants ${family} addresses and none`),
      );
      await rig.afterwards();
      expect(await slicesOf(rig.ns, 'web')).toEqual([]);
      expect(await warningsIn(rig.ns)).toEqual([]);
      // Beside one that has what it takes, it still is not in, nor in its way.
      await vm('right', right);
      await addressesBecome(`${family} ${right}`);
      // And it is in once it has an address of the family, and out without.
      await readdress('vm', other, right);
      await addressesBecome(`${family} ${right}`, `${family} ${right}`);
      await readdress('vm', other);
      await addressesBecome(`${family} ${right}`);
    },
  );
});

describe('a Service of two families', () => {
  it.each([
    ['IPv4 first', DUAL],
    ['IPv6 first', { ...DUAL, ipFamilies: ['IPv6', 'IPv4'] }],
    ['if there are two', { ipFamilyPolicy: 'PreferDualStack' }],
    ['headless', { ...DUAL, ...HEADLESS }],
    ['headless and without ports', { ...DUAL, ...HEADLESS, ports: [] }],
  ])('(%s) gets a slice a family, of what each workload has (report 51)', async (_what, spec) => {
    await web(spec);
    await vm('both', '10.20.0.1', 'fd00:20::1');
    await vm('turned', 'fd00:20::2', '10.20.0.2');
    await vm('four', '10.20.0.3');
    await vm('six', 'fd00:20::4');
    await addressesBecome(
      'IPv4 10.20.0.1',
      'IPv4 10.20.0.2',
      'IPv4 10.20.0.3',
      'IPv6 fd00:20::1',
      'IPv6 fd00:20::2',
      'IPv6 fd00:20::4',
    );
    const slices = await slicesOf(rig.ns, 'web');
    expect(slices).toHaveLength(2);
    for (const { ports } of slices) expect(ports ?? []).toHaveLength('ports' in spec ? 0 : 1);
    expect(await warningsIn(rig.ns)).toEqual([]);
  });

  it('has no slice of a family that no workload has, and gets it with the first (report 51, 54)', async () => {
    await web(DUAL);
    await vm('vm', '10.20.0.1');
    await addressesBecome('IPv4 10.20.0.1');
    const before = await sliceOf('IPv4');
    await readdress('vm', '10.20.0.1', 'fd00:20::1');
    await addressesBecome('IPv4 10.20.0.1', 'IPv6 fd00:20::1');
    await readdress('vm', '10.20.0.1');
    await addressesBecome('IPv4 10.20.0.1');
    // The other family was none of its business.
    expect(await sliceOf('IPv4')).toEqual(before);
    await readdress('vm', 'fd00:20::1');
    await addressesBecome('IPv6 fd00:20::1');
  });

  it('loses the slices of a family that it gives up, and gets them back (C2, report 51)', async () => {
    for (const [name, more] of Object.entries({ web: {}, head: HEADLESS })) {
      const spec = { selector: { app: 'web' }, ...DUAL, ...more };
      await createService(rig.ns, name, { spec });
    }
    await vm('vm', '10.20.0.1', 'fd00:20::1');
    const change = async (spec: object, ...expected: string[]): Promise<void> => {
      for (const name of ['web', 'head']) {
        await mergePatch(servicePath(rig.ns, name), { spec });
        await eventually(async () => {
          expect(await addressed(name)).toEqual(expected);
          expect(await slicesOf(rig.ns, name)).toHaveLength(expected.length);
        });
      }
    };
    await change({}, 'IPv4 10.20.0.1', 'IPv6 fd00:20::1');
    await change({ ipFamilyPolicy: 'SingleStack' }, 'IPv4 10.20.0.1');
    await change(DUAL, 'IPv4 10.20.0.1', 'IPv6 fd00:20::1');
    await change({ ...V4, clusterIPs: null, ipFamilies: ['IPv4'] }, 'IPv4 10.20.0.1');
    await change({ ipFamilyPolicy: 'PreferDualStack' }, 'IPv4 10.20.0.1', 'IPv6 fd00:20::1');
  });

  it('that comes back as one of another family keeps nothing of the first (C2, B5)', async () => {
    await web(V4);
    await vm('vm', '10.20.0.1', 'fd00:20::1');
    await addressesBecome('IPv4 10.20.0.1');
    await remove(servicePath(rig.ns, 'web'));
    await web(V6);
    await addressesBecome('IPv6 fd00:20::1');
    await respec({ ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] });
    await addressesBecome('IPv4 10.20.0.1', 'IPv6 fd00:20::1');
  });
});

describe('two addresses of one family', () => {
  it('are one endpoint, in the order of the workload, and follow it (D1, report 53)', async () => {
    await web(V4);
    await vm('vm', '10.20.0.91', '10.20.0.90');
    await addressesBecome('IPv4 10.20.0.91,10.20.0.90');
    const before = await rig.onlySlice('web');
    await readdress('vm', '10.20.0.90', '10.20.0.91');
    await addressesBecome('IPv4 10.20.0.90,10.20.0.91');
    await readdress('vm', '10.20.0.90');
    await addressesBecome('IPv4 10.20.0.90');
    await readdress('vm', '10.20.0.92', '10.20.0.90');
    await addressesBecome('IPv4 10.20.0.92,10.20.0.90');
    const after = await rig.onlySlice('web');
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    expect(generationOf(after)).toBe(generationOf(before) + 3);
  });

  it('of IPv6 likewise, and a repeated one once, however it is spelled (D1, report 53)', async () => {
    await web(V6);
    await vm('two', 'fd00:20::2', 'fd00:20::1');
    await vm('same', 'FD00:0020:0000:0000:0000:0000:0000:00A1', 'fd00:20::a1');
    await addressesBecome('IPv6 fd00:20::2,fd00:20::1', 'IPv6 fd00:20::a1');
    expect(await warningsIn(rig.ns)).toEqual([]);
  });
});

describe('an IPv6 address', () => {
  const SPELLINGS: readonly (readonly [text: string, canonical: string])[] = [
    ['2001:DB8::A', '2001:db8::a'],
    ['2001:db8:0:0:0:0:0:b', '2001:db8::b'],
    ['2001:0db8::000c', '2001:db8::c'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
  ];

  it('is written as the API server wants it, and another spelling of it costs no write (D1)', async () => {
    await web(V6);
    await Promise.all(SPELLINGS.map(([text], at) => vm(`vm-${at}`, text)));
    await addressesBecome(...SPELLINGS.map(([, canonical]) => `IPv6 ${canonical}`).sort());
    const before = await rig.sliceBecomes(
      'web',
      ready(SPELLINGS.map(([, canonical]) => canonical)),
    );
    await Promise.all(SPELLINGS.map(([, canonical], at) => readdress(`vm-${at}`, canonical)));
    await rig.afterwards();
    expect(await rig.onlySlice('web')).toEqual(before);
    expect(await warningsIn(rig.ns)).toEqual([]);
  });

  it('that is an IPv4 address in disguise is in no slice of either family (report 54)', async () => {
    await web(DUAL);
    await vm('mapped', '::ffff:10.20.0.1');
    await vm('hex', '::ffff:0a14:1');
    await vm('right', '10.20.0.2', 'fd00:20::2');
    await addressesBecome('IPv4 10.20.0.2', 'IPv6 fd00:20::2');
    for (const name of ['mapped', 'hex']) {
      await warned(rig.ns, name, 'AddressRefused', 'is an IPv4-mapped IPv6 address');
    }
  });
});

it.each(['FQDN', 'IPv6'])(
  'a slice of ours of type %s, which nobody wants, goes, and no address of it is kept (C2)',
  async (addressType) => {
    const service = (await web(V4)) as ApiEndpointSlice;
    await apiOk('POST', slicesPath(rig.ns), {
      metadata: {
        name: 'old',
        labels: { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: TEST_MANAGER },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Service', name: 'web', uid: service.metadata?.uid },
        ],
      },
      addressType,
      endpoints: [{ addresses: [addressType === 'FQDN' ? 'vm.example.net' : 'fd00:20::9'] }],
      ports: [],
    });
    await vm('vm', '10.20.0.1');
    await addressesBecome('IPv4 10.20.0.1');
    await eventually(async () => expect(await exists(slicesPath(rig.ns, 'old'))).toBe(false));
  },
);

it('none of this was an error', () => {
  expect(complaintsOf(rig.tether)).toEqual([]);
});
