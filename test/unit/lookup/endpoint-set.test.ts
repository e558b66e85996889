import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { difference } from '../../../lookup/diff.ts';
import { onlyPort, type EndpointSet } from '../../../lookup/endpoint-set.ts';
import { endpoint, endpointsIn, service, setOfSlices, slice, targetRef } from './builders.ts';

const byAddress = (set: EndpointSet, address: string) =>
  endpointsIn(set).find((one) => one.address === address);

describe('the set of a Service', () => {
  test('has what the slices say of each endpoint, and nothing where they say nothing', () => {
    const full = endpoint('10.0.0.1', {
      zone: 'z1',
      nodeName: 'n1',
      hostname: 'web-0',
      ready: false,
      serving: true,
      terminating: true,
      targetRef: targetRef('Pod', 'web-0'),
    });
    const set = setOfSlices([slice({ endpoints: [full, endpoint('10.0.0.2')] })]);
    expect(byAddress(set, '10.0.0.1')).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      cluster: 'east',
      address: '10.0.0.1',
      family: 'IPv4',
      ports: { http: { port: 8080, protocol: 'TCP' } },
      ready: false,
      serving: true,
      terminating: true,
      zone: 'z1',
      nodeName: 'n1',
      hostname: 'web-0',
      targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-0', uid: 'u-web-0' },
    });
    expect(Object.keys(byAddress(set, '10.0.0.2') ?? {}).sort()).toEqual(
      ['address', 'cluster', 'family', 'id', 'ports', 'ready', 'serving', 'terminating'].sort(),
    );
  });

  test('keeps the two families of a dual-stack backend apart', () => {
    const of = { targetRef: targetRef('ExternalWorkload', 'vm') };
    const set = setOfSlices([
      slice({ endpoints: [endpoint('192.0.2.1', of)] }),
      slice({ key: 'shop/web-6', addressType: 'IPv6', endpoints: [endpoint('2001:db8::1', of)] }),
    ]);
    expect(
      endpointsIn(set)
        .map(({ family, address }) => `${family} ${address}`)
        .sort(),
    ).toEqual(['IPv4 192.0.2.1', 'IPv6 2001:db8::1']);
  });

  test('has the identity of an ExternalWorkload where its cluster kept one, and no empty one', () => {
    const ref = (name: string) => ({ targetRef: targetRef('ExternalWorkload', name) });
    const endpoints = [
      endpoint('192.0.2.1', ref('meshed')),
      endpoint('192.0.2.2', ref('pruned')),
      endpoint('192.0.2.3', ref('unknown')),
    ];
    const identity = 'spiffe://root/meshed';
    const of = { uid: 'u', rv: '1' };
    const set = setOfSlices(
      [slice({ endpoints })],
      [
        { ...of, key: 'shop/meshed', identity, serverName: 'meshed.example' },
        { ...of, key: 'shop/pruned' },
      ],
    );
    expect(byAddress(set, '192.0.2.1')).toMatchObject({ identity, serverName: 'meshed.example' });
    for (const address of ['192.0.2.2', '192.0.2.3']) {
      expect(byAddress(set, address)).not.toHaveProperty('identity');
      expect(byAddress(set, address)).not.toHaveProperty('serverName');
    }
  });

  test('has one endpoint for a backend that is in two slices, with all of its ports', () => {
    const of = { targetRef: targetRef('Pod', 'web-0') };
    const admin = { name: 'admin', port: 9000, protocol: 'TCP' } as const;
    const moving = [
      slice({ endpoints: [endpoint('10.0.0.1', { ...of, ready: false })] }),
      slice({ key: 'shop/web-2', ports: [admin], endpoints: [endpoint('10.0.0.1', of)] }),
    ];
    const set = setOfSlices(moving);
    expect(endpointsIn(set)).toHaveLength(1);
    expect(byAddress(set, '10.0.0.1')).toMatchObject({
      ready: true,
      ports: { http: { port: 8080 }, admin: { port: 9000 } },
    });
    expect(setOfSlices(moving.toReversed()).version).toBe(set.version);
  });

  test('keeps two workloads of one address apart', () => {
    const endpoints = ['a', 'b'].map((name) =>
      endpoint('192.0.2.1', { targetRef: targetRef('ExternalWorkload', name) }),
    );
    expect(endpointsIn(setOfSlices([slice({ endpoints })]))).toHaveLength(2);
  });

  test('has a version of its content alone', () => {
    const endpoints = [endpoint('10.0.0.1'), endpoint('10.0.0.2')];
    const set = setOfSlices([slice({ endpoints })]);
    const [first, second] = endpoints;
    const others = [
      setOfSlices([slice({ rv: '9', uid: 'other', endpoints: endpoints.toReversed() })]),
      setOfSlices([
        slice({ key: 'shop/x', endpoints: first ? [first] : [] }),
        slice({ key: 'shop/y', endpoints: second ? [second] : [] }),
      ]),
    ];
    for (const other of others) expect(other.version).toBe(set.version);
    const less = setOfSlices([slice({ endpoints: [endpoint('10.0.0.1')] })]);
    const elsewhere = setOfSlices([slice({ endpoints })], [], service({ ports: [] }));
    expect(new Set([set.version, less.version, elsewhere.version]).size).toBe(3);
  });

  test('takes names of ports for what they are', () => {
    const ports = ['__proto__', 'constructor', ''].map((name, at) => ({
      name,
      port: 8000 + at,
      protocol: 'TCP' as const,
    }));
    const set = setOfSlices([slice({ ports, endpoints: [endpoint('10.0.0.1')] })]);
    const [one] = endpointsIn(set);
    expect(Object.keys(one?.ports ?? {})).toEqual(['', '__proto__', 'constructor']);
    expect(set.items.values().next().value?.text).toContain('"__proto__":{"port":8000');
  });
});

describe('a set narrowed to one port', () => {
  const ports = [
    { name: 'http', port: 8080, protocol: 'TCP' },
    { name: 'admin', port: 9000, protocol: 'TCP' },
  ] as const;
  const of = service({
    ports: [
      { name: 'http', port: 80, protocol: 'TCP' },
      { name: 'admin', port: 8080, protocol: 'TCP' },
      { name: 'unused', port: 1, protocol: 'TCP' },
    ],
  });
  const set = setOfSlices([slice({ ports, endpoints: [endpoint('10.0.0.1')] })], [], of);
  const portsIn = (narrowed: EndpointSet | null) =>
    narrowed && endpointsIn(narrowed).map((one) => one.ports);

  test('by its name, or by its number, which is first of all that of the Service', () => {
    const http = [{ http: { port: 8080, protocol: 'TCP' } }];
    const admin = [{ admin: { port: 9000, protocol: 'TCP' } }];
    expect(portsIn(onlyPort(set, 'http'))).toEqual(http);
    expect(portsIn(onlyPort(set, '80'))).toEqual(http);
    expect(portsIn(onlyPort(set, '8080'))).toEqual(admin);
    expect(portsIn(onlyPort(set, '9000'))).toEqual(admin);
  });

  test('is empty where no endpoint has a port of the Service, and null where nothing has it', () => {
    expect(portsIn(onlyPort(set, 'unused'))).toEqual([]);
    expect(onlyPort(set, 'other')).toBeNull();
    expect(onlyPort(set, '81')).toBeNull();
  });
});

test('the differences, applied to the first set, always give the present one', () => {
  const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'];
  const backends = fc.uniqueArray(
    fc.record({ address: fc.constantFrom(...addresses), ready: fc.boolean() }),
    { selector: ({ address }) => address },
  );
  const steps = fc.array(fc.tuple(backends, backends), { minLength: 2, maxLength: 8 });
  const sets = steps.map((all) =>
    all.map(([a, b]) =>
      setOfSlices(
        [a, b].map((some, at) =>
          slice({
            key: `shop/web-${at}`,
            endpoints: some.map(({ address, ready }) => endpoint(address, { ready })),
          }),
        ),
      ),
    ),
  );
  fc.assert(
    fc.property(sets, (all) => {
      const [first, ...later] = all;
      const texts = new Map([...(first?.items ?? [])].map(([id, { text }]) => [id, text]));
      let before = first;
      for (const after of later) {
        const changes = before === undefined ? null : difference(before, after);
        expect(changes === null).toBe(before?.version === after.version);
        for (const id of changes?.remove ?? []) expect(texts.delete(id)).toBe(true);
        for (const {
          endpoint: { id },
          text,
        } of changes?.add ?? [])
          texts.set(id, text);
        const present = [...after.items].map(([id, { text }]) => [id, text] as const);
        expect(texts).toEqual(new Map(present));
        before = after;
      }
    }),
  );
});
