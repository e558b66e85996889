import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  servicePath,
  setReady,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';

/*
 * What users get wrong in their objects, on the real API server. Every test has a workload that is
 * right beside those that are not: it must come into the slice as if they were not there.
 */
let tether: TetherProcess;
let ns: string;

beforeAll(async () => {
  tether = spawnTether(['up', '--redis-prefix', `bad-objects-${process.pid}`], {
    lifetime: 'file',
  });
  await tether.untilLog(/"ready"/);
});
beforeEach(async () => {
  ns = await freshNamespace('bad-objects');
});

const endpointsBecome = (service: string, expected: readonly string[]): Promise<void> =>
  eventually(async () => expect(await endpointsOf(ns, service)).toEqual(expected));

interface SeenEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly source?: { readonly component?: string };
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

async function events(): Promise<readonly SeenEvent[]> {
  const list = await apiOk('GET', `/api/v1/namespaces/${ns}/events`);
  return (list as { readonly items: readonly SeenEvent[] }).items;
}

/** Waits for the one Event of this reason about a workload, and gives its message. */
const toldTo = (workload: string, reason: string): Promise<string> =>
  eventually(async () => {
    const found = (await events()).filter(
      (event) => event.reason === reason && event.involvedObject.name === workload,
    );
    expect(found).toHaveLength(1);
    expect(found[0]?.type).toBe('Warning');
    expect(found[0]?.involvedObject.kind).toBe('ExternalWorkload');
    return found[0]?.message ?? '';
  });

/**
 * What we wrote Events about: objects that are right must have none. A process of another test file
 * that looks at all namespaces says the same under the same name, and one of them is first.
 */
async function warned(): Promise<string[]> {
  const ours = (await events()).filter(
    // That process is another manager as well, and each says so of the other.
    ({ source, reason }) =>
      source?.component?.startsWith('tether-') && reason !== 'SeveralEndpointSliceManagers',
  );
  return [...new Set(ours.map(({ involvedObject }) => involvedObject.name))].sort();
}

async function explain(service: string): Promise<string> {
  const { stdout, stderr } = await runTether(['explain', `${ns}/${service}`]);
  expect(stderr).toBe('');
  return stdout;
}

describe('addresses', () => {
  const REFUSED: readonly (readonly [what: string, ip: string, reason: string])[] = [
    ['words', 'my-vm', 'is not an IP address'],
    ['a name', 'vm.example.net', 'is not an IP address'],
    ['nothing', '', 'is not an IP address'],
    ['a number too many', '192.0.2.256', 'is not an IP address'],
    ['a prefix length', '192.0.2.1/24', 'is not an IP address'],
    ['a port', '192.0.2.1:80', 'is not an IP address'],
    ['a space', ' 192.0.2.1', 'is not an IP address'],
    ['brackets', '[2001:db8::1]', 'is not an IP address'],
    ['too many groups', '1:2:3:4:5:6:7:8:9', 'is not an IP address'],
    ['300 characters', '1'.repeat(300), 'is not an IP address'],
    ['leading zeros', '192.0.02.1', 'has leading zeros'],
    ['a zone id', 'fe80::1%eth0', 'carries a zone id, which means nothing elsewhere'],
    ['an IPv4-mapped address', '::ffff:192.0.2.1', 'is an IPv4-mapped IPv6 address'],
    ['the unspecified address', '0.0.0.0', 'is the unspecified address'],
    ['loopback', '127.0.0.53', 'is a loopback address'],
    ['link-local', '169.254.169.254', 'is a link-local address'],
    ['multicast', '239.1.2.3', 'is a multicast address'],
    ['IPv6 unspecified', '::', 'is the unspecified address'],
    ['IPv6 loopback', '::1', 'is a loopback address'],
    ['IPv6 link-local', 'fe80::1', 'is a link-local address'],
    ['IPv6 multicast', 'ff02::1', 'is a multicast address'],
  ];

  it('that no slice may hold are left out alone, and their owners are told', async () => {
    const dual = { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] };
    await createService(ns, 'web', { spec: { selector: { app: 'web' }, ...dual } });
    await createWorkload(ns, 'right', 'web', { ips: ['192.0.2.10', '2001:db8::10'] });
    const half = (at: number): string => `192.0.2.${100 + at}`;
    for (const [at, [, ip]] of REFUSED.entries()) {
      await createWorkload(ns, `half-${at}`, 'web', { ips: [ip, half(at)] });
      await createWorkload(ns, `wrong-${at}`, 'web', { ips: [ip] });
    }
    const usable = ['192.0.2.10', ...REFUSED.map((_, at) => half(at)), '2001:db8::10'];
    await endpointsBecome('web', usable.map((ip) => `${ip} 8080 ready`).sort());
    const explained = await explain('web');
    for (const [at, [what, ip, reason]] of REFUSED.entries()) {
      const shown = ip.length > 80 ? `${ip.slice(0, 80)}…` : ip;
      const message = `No EndpointSlice may hold these spec.workloadIPs, so they are left out: "${shown}" ${reason}.`;
      for (const workload of [`wrong-${at}`, `half-${at}`]) {
        const told = await toldTo(workload, 'AddressRefused');
        expect({ what, told }).toEqual({ what, told: message });
      }
      expect(explained).toMatch(new RegExp(`^wrong-${at} +out +- +No EndpointSlice may hold`, 'm'));
    }
    expect(await warned()).toHaveLength(2 * REFUSED.length);
  });

  it('of a family that the Service does not want are no reason to warn', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'right', 'web');
    await createWorkload(ns, 'six', 'web', { ips: ['2001:db8::1'] });
    await createWorkload(ns, 'both', 'web', { ips: ['fe80::1', '192.0.2.20'] });
    await endpointsBecome('web', ['192.0.2.10 8080 ready', '192.0.2.20 8080 ready']);
    expect(await explain('web')).toMatch(
      /^six +out +- +Service web wants IPv4 addresses and none of the workload's spec\.workloadIPs is one\.$/m,
    );
    expect(await warned()).toEqual([]);
  });

  it('that two workloads share, or that one writes twice, are no fault', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'a', 'web', { ips: ['192.0.2.1', '192.0.2.1'] });
    await createWorkload(ns, 'b', 'web', { ips: ['192.0.2.1'] });
    await endpointsBecome('web', ['192.0.2.1 8080 ready', '192.0.2.1 8080 ready']);
    expect(await warned()).toEqual([]);
  });
});

describe('names', () => {
  /** Of any length: the identity is no longer than its own limit. */
  const createNamed = async (name: string, app: string, ip: string): Promise<void> => {
    await apiOk('POST', workloadPath(ns), {
      apiVersion: 'workload.linkerd.io/v1beta1',
      kind: 'ExternalWorkload',
      metadata: { name, labels: { app } },
      spec: {
        meshTLS: { identity: 'spiffe://root.example/vm', serverName: 'vm.example' },
        workloadIPs: [{ ip }],
        ports: [{ name: 'http', port: 8080 }],
      },
    });
    await setReady(ns, name, true);
  };

  it('that are no host name: a headless Service offers the workload without one', async () => {
    const long = 'l'.repeat(64);
    const longest = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
    const fits = 'f'.repeat(63);
    expect(longest).toHaveLength(253);
    await createService(ns, 'web', { spec: { selector: { app: 'web' }, clusterIP: 'None' } });
    const names = ['with.dots', long, longest, fits];
    for (const [at, name] of names.entries()) {
      await createNamed(name, 'web', `192.0.2.${at + 1}`);
    }
    await endpointsBecome(
      'web',
      [1, 2, 3, 4].map((last) => `192.0.2.${last} 8080 ready`),
    );
    const [slice] = await slicesOf(ns, 'web');
    const hostnames = (slice?.endpoints ?? []).map(({ hostname, targetRef }) => [
      targetRef?.name,
      hostname,
    ]);
    expect(new Map(hostnames as [string, string | undefined][])).toEqual(
      new Map([
        ['with.dots', undefined],
        [long, undefined],
        [longest, undefined],
        [fits, fits],
      ]),
    );
    expect(await toldTo('with.dots', 'HostnameRefused')).toBe(
      'Its name "with.dots" is not a DNS label of at most 63 characters, so headless Services publish it without a hostname.',
    );
    expect(await toldTo(longest, 'HostnameRefused')).toContain(`"${longest.slice(0, 80)}…"`);
    expect(await warned()).toEqual([long, longest, 'with.dots'].sort());
  });

  it('of 63 and 253 characters are followed like any other, to the last', async () => {
    const service = 's'.repeat(63);
    const workload = `${'w'.repeat(125)}.${'x'.repeat(127)}`;
    await createService(ns, service);
    await createNamed(workload, service, '192.0.2.10');
    await endpointsBecome(service, ['192.0.2.10 8080 ready']);
    await setReady(ns, workload, false);
    await endpointsBecome(service, ['192.0.2.10 8080 not-ready']);
    const [slice] = await slicesOf(ns, service);
    expect(slice?.metadata?.name).toMatch(new RegExp(`^${service}-ew-[0-9a-z]+$`));
    const reconcile = ['reconcile', 'service', `${ns}/${service}`, '--wait'];
    const prefix = ['--redis-prefix', `bad-objects-${process.pid}`];
    const { code, stdout } = await runTether([...reconcile, ...prefix]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${ns}/${service}: nothing to write; 0 of 1 endpoints ready in 1 slice\n`,
    });
    expect((await runTether(['workload', 'ready', `${ns}/${workload}`])).code).toBe(0);
    await endpointsBecome(service, ['192.0.2.10 8080 ready']);
  });
});

describe('ports', () => {
  it('one name for two numbers: the first is used, and the owner is told', async () => {
    const ports = [{ name: 'http', port: 80, targetPort: 'http' }];
    await createService(ns, 'web', { spec: { selector: { app: 'web' }, ports } });
    await createWorkload(ns, 'right', 'web');
    await createWorkload(ns, 'twice', 'web', {
      ips: ['192.0.2.20'],
      ports: [
        { name: 'http', port: 9001 },
        { name: 'http', port: 9002 },
      ],
    });
    await endpointsBecome('web', ['192.0.2.10 8080 ready', '192.0.2.20 9001 ready']);
    expect(await toldTo('twice', 'PortNameAmbiguous')).toBe(
      'Its spec.ports gives one name to several numbers: "http" (TCP) is 9001 and 9002, of which 9001 is used.',
    );
    expect(await warned()).toEqual(['twice']);
  });

  it('one number, or one name, for two protocols: each is a port of its own', async () => {
    const ports = [
      { name: 'udp', port: 53, targetPort: 'dns', protocol: 'UDP' },
      { name: 'tcp', port: 53, targetPort: 'dns', protocol: 'TCP' },
    ];
    await createService(ns, 'dns', { spec: { selector: { app: 'dns' }, ports } });
    await createWorkload(ns, 'vm', 'dns', {
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns', port: 53, protocol: 'TCP' },
      ],
    });
    await endpointsBecome('dns', ['192.0.2.10 53,53 ready']);
    const [slice] = await slicesOf(ns, 'dns');
    expect(slice?.ports).toEqual([
      { name: 'udp', port: 53, protocol: 'UDP' },
      { name: 'tcp', port: 53, protocol: 'TCP' },
    ]);
    expect(await warned()).toEqual([]);
  });

  it('that only some workloads have: each serves what it has, and explain says the rest', async () => {
    const ports = [
      { name: 'http', port: 80, targetPort: 'http' },
      { name: 'admin', port: 90, targetPort: 'admin' },
    ];
    await createService(ns, 'web', { spec: { selector: { app: 'web' }, ports } });
    await createWorkload(ns, 'some', 'web');
    await createWorkload(ns, 'none', 'web', {
      ips: ['192.0.2.20'],
      ports: [{ name: 'other', port: 1 }],
    });
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    const explained = await explain('web');
    expect(explained).toMatch(
      /^some +in +yes .*It is left out of some ports of Service web, which its spec\.ports does not have: port "admin" needs name "admin" \(TCP\)\.$/m,
    );
    expect(explained).toMatch(
      /^none +out .*None of the ports of Service web is in the workload's spec\.ports: port "http" needs name "http" \(TCP\); port "admin" needs/m,
    );
  });
});

describe.each(['v1alpha1', 'v1beta1'] as const)('%s', (version) => {
  const create = (name: string, spec: object): Promise<unknown> => {
    const tls = { identity: `spiffe://x/${name}`, serverName: `${name}.example` };
    return apiOk('POST', workloadPath(ns).replace('v1beta1', version), {
      apiVersion: `workload.linkerd.io/${version}`,
      kind: 'ExternalWorkload',
      metadata: { name, labels: { app: 'web' } },
      spec: { [version === 'v1alpha1' ? 'meshTls' : 'meshTLS']: tls, ...spec },
    });
  };

  it('a workload without ports, addresses or both is out, and explain says why', async () => {
    const ip = { workloadIPs: [{ ip: '192.0.2.20' }] };
    const port = { ports: [{ name: 'http', port: 8080 }] };
    await createService(ns, 'web');
    await create('no-ports', ip);
    await create('empty-ports', { ...ip, ports: [] });
    await create('no-ips', port);
    await create('empty-ips', { ...port, workloadIPs: [] });
    await create('empty-ip', { ...port, workloadIPs: [{}] });
    await create('nothing', {});
    await createWorkload(ns, 'right', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    const explained = await explain('web');
    const noPort = `None of the ports of Service web is in the workload's spec.ports: port "http" needs number 8080 (TCP).`;
    const noIp = 'It has no spec.workloadIPs yet; add one.';
    for (const name of ['no-ports', 'empty-ports']) {
      expect(explained).toContain(`${name.padEnd(11)}  out  -      ${noPort}\n`);
    }
    for (const name of ['no-ips', 'empty-ips']) {
      expect(explained).toContain(`${name.padEnd(11)}  out  -      ${noIp}\n`);
    }
    expect(explained).toContain(`nothing      out  -      ${noIp} ${noPort}\n`);
    expect(await toldTo('empty-ip', 'AddressRefused')).toContain('"" is not an IP address');
    await tether.untilLog(new RegExp(`"${ns}/web".*"no-ips".*${noIp}`));
  });
});

describe('Services', () => {
  const EVERY: readonly (readonly [string, object, readonly string[]])[] = [
    ['ClusterIP', {}, ['192.0.2.10 8080 ready']],
    ['headless', { clusterIP: 'None' }, ['192.0.2.10 8080 ready']],
    ['NodePort', { type: 'NodePort' }, ['192.0.2.10 8080 ready']],
    ['LoadBalancer', { type: 'LoadBalancer' }, ['192.0.2.10 8080 ready']],
    ['IPv6', { ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' }, ['2001:db8::10 8080 ready']],
    [
      'headless IPv6',
      { clusterIP: 'None', ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
      ['2001:db8::10 8080 ready'],
    ],
    [
      'dual-stack',
      { ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'RequireDualStack' },
      ['192.0.2.10 8080 ready', '2001:db8::10 8080 ready'],
    ],
    ['ExternalName', { type: 'ExternalName', externalName: 'web.example.net' }, []],
    ['selector absent', { selector: null }, []],
    ['selector empty', { selector: {} }, []],
    ['headless without ports', { clusterIP: 'None', ports: [] }, ['192.0.2.10  ready']],
  ];

  it('of every type, family and kind of selector beside each other', async () => {
    await createWorkload(ns, 'vm', 'web', { ips: ['192.0.2.10', '2001:db8::10'] });
    const named = EVERY.map(([what, spec, expected], at) => ({
      what,
      spec,
      expected,
      name: `s${at}`,
    }));
    for (const { name, spec } of named) {
      await createService(ns, name, { spec: { selector: { app: 'web' }, ...spec } });
    }
    for (const { name, expected } of named) await endpointsBecome(name, expected);
    const why = async (what: string): Promise<string> =>
      explain(named.find((each) => each.what === what)?.name ?? '');
    expect(await why('ExternalName')).toContain(
      'No EndpointSlices of ours: the Service is of type ExternalName\n',
    );
    expect(await why('selector absent')).toContain(
      'No EndpointSlices of ours: the Service has no selector\n',
    );
    expect(await why('selector empty')).toContain('the Service has no selector\n');
    expect(await why('headless')).toMatch(/^Service .*: headless, selector app=web\n/);
    expect(await warned()).toEqual([]);
  });

  it('that change their type, family and selector under way', async () => {
    await createWorkload(ns, 'vm', 'web', { ips: ['192.0.2.10', '2001:db8::10'] });
    await createService(ns, 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    const change = (spec: object): Promise<unknown> => mergePatch(servicePath(ns, 'web'), { spec });
    await change({ type: 'LoadBalancer' });
    await change({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' });
    await endpointsBecome('web', ['192.0.2.10 8080 ready', '2001:db8::10 8080 ready']);
    await change({ selector: null });
    await endpointsBecome('web', []);
    await change({ selector: { app: 'web' } });
    await endpointsBecome('web', ['192.0.2.10 8080 ready', '2001:db8::10 8080 ready']);
  });
});

it('none of this was an error, nor a trace of the program in the log', () => {
  const log = tether.stdout() + tether.stderr();
  expect(log).not.toMatch(/"level":"(error|warn)"/);
  expect(log).not.toMatch(/^ +at |"stack"/m);
});
