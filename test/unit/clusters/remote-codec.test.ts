import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  decodeRemoteService,
  decodeRemoteSlice,
  decodeRemoteWorkload,
  encodeRemoteService,
  encodeRemoteSlice,
  encodeRemoteWorkload,
  type EncodedRemote,
} from '../../../core/remote-codec.ts';
import type { RemoteService, RemoteSlice, RemoteWorkload } from '../../../core/remote-records.ts';
import { FC_PARAMETERS } from '../plan/support/arbitraries.ts';

const text = ({ rv, uid, service, body }: EncodedRemote): string =>
  [rv, uid, service, body].join('\n');

// Any text but '', which stands for an absent one; line feeds and quotes included.
const some = fc.string({ minLength: 1, unit: 'binary' });
const identity = {
  key: fc.constantFrom('shop/web', 'a/b'),
  uid: fc.uuid(),
  rv: fc.bigInt({ min: 1n }).map(String),
};
const protocol = fc.constantFrom('TCP' as const, 'UDP' as const, 'SCTP' as const);
const number = fc.integer({ min: 1, max: 65_535 });
const optional = { requiredKeys: ['name', 'port', 'protocol'] as ['name', 'port', 'protocol'] };

const services: fc.Arbitrary<RemoteService> = fc.record({
  ...identity,
  type: some,
  headless: fc.boolean(),
  ports: fc.array(
    fc.record({ name: fc.string(), port: number, protocol, appProtocol: some }, optional),
  ),
});

const endpoints = fc.record(
  {
    addresses: fc.array(fc.ipV4(), { minLength: 0, maxLength: 3 }),
    ready: fc.boolean(),
    serving: fc.boolean(),
    terminating: fc.boolean(),
    hostname: some,
    zone: some,
    nodeName: some,
    targetRef: fc.record(
      { kind: some, namespace: fc.constantFrom('shop', 'elsewhere'), name: some, uid: some },
      { requiredKeys: ['kind', 'namespace', 'name'] },
    ),
  },
  { requiredKeys: ['addresses', 'ready', 'serving', 'terminating'] },
);

const slices: fc.Arbitrary<RemoteSlice> = fc.record({
  ...identity,
  service: fc.constantFrom('shop/web', 'a/c'),
  addressType: fc.constantFrom('IPv4' as const, 'IPv6' as const, 'FQDN' as const),
  ports: fc.array(
    fc.record(
      { name: fc.string(), port: fc.option(number), protocol, appProtocol: some },
      optional,
    ),
  ),
  endpoints: fc.array(endpoints),
});

const workloads: fc.Arbitrary<RemoteWorkload> = fc.record(
  { ...identity, identity: some, serverName: some },
  { requiredKeys: ['key', 'uid', 'rv'] },
);

describe('a record of a linked cluster survives the view', () => {
  it('as a Service', () => {
    const survives = fc.property(services, (record) =>
      expect(decodeRemoteService(record.key, text(encodeRemoteService(record)))).toEqual(record),
    );
    fc.assert(survives, FC_PARAMETERS);
  });

  it('as a slice', () => {
    const survives = fc.property(slices, (record) =>
      expect(decodeRemoteSlice(record.key, text(encodeRemoteSlice(record)))).toEqual(record),
    );
    fc.assert(survives, FC_PARAMETERS);
  });

  it('as a workload', () => {
    const survives = fc.property(workloads, (record) =>
      expect(decodeRemoteWorkload(record.key, text(encodeRemoteWorkload(record)))).toEqual(record),
    );
    fc.assert(survives, FC_PARAMETERS);
  });
});

describe('the text of a record', () => {
  it('has the same body whatever its version and UID', () => {
    const same = fc.property(slices, fc.uuid(), (record, uid) => {
      const other = encodeRemoteSlice({ ...record, rv: '99', uid });
      expect(other.body).toBe(encodeRemoteSlice(record).body);
    });
    fc.assert(same, FC_PARAMETERS);
  });

  it('has another body for another record', () => {
    const differs = fc.property(slices, slices, (a, b) => {
      const alike = { ...b, key: a.key, rv: a.rv, uid: a.uid, service: a.service };
      const equal = encodeRemoteSlice(a).body === encodeRemoteSlice(alike).body;
      if (equal) expect(alike).toEqual(a);
    });
    fc.assert(differs, FC_PARAMETERS);
  });

  it('of a plain endpoint is short', () => {
    const endpoint = {
      addresses: ['10.244.12.117'],
      ready: true,
      serving: true,
      terminating: false,
      zone: 'eu-west-1a',
      nodeName: 'ip-10-0-12-117.internal',
      targetRef: {
        kind: 'Pod',
        namespace: 'shop',
        name: 'web-7d4b9c6f5d-x2x9k',
        uid: '5d0f6f2a-0c0a-4f7e-9f0e-6b1c8f0b9f55',
      },
    };
    const record: RemoteSlice = {
      key: 'shop/web-abcde',
      uid: 'u',
      rv: '1',
      service: 'shop/web',
      addressType: 'IPv4',
      ports: [],
      endpoints: [endpoint],
    };
    expect(encodeRemoteSlice(record).body.length).toBeLessThan(
      0.55 * JSON.stringify(endpoint).length,
    );
  });
});
