import { describe, expect, it } from '@jest/globals';
import type { ApiObject } from '../../../core/api-objects.ts';
import {
  projectRemoteService,
  projectRemoteSlice,
  projectRemoteWorkload,
} from '../../../core/project-remote.ts';

const metadata = { namespace: 'shop', name: 'web', uid: 'u-1', resourceVersion: '7' };
const identity = { key: 'shop/web', uid: 'u-1', rv: '7' };
const labels = { 'kubernetes.io/service-name': 'web' };

function slice(fields: object, meta: object = {}): ApiObject {
  const object = { metadata: { ...metadata, labels, ...meta }, addressType: 'IPv4', ...fields };
  return object as ApiObject;
}

const sliceOf = (fields: object, allowFqdn = false) =>
  projectRemoteSlice(slice(fields), { allowFqdn });

describe('a Service of a linked cluster', () => {
  it('is reduced to its type and ports', () => {
    const object = {
      metadata: { ...metadata, annotations: { much: 'more' } },
      spec: {
        type: 'ClusterIP',
        clusterIP: 'None',
        selector: { app: 'web' },
        ports: [
          { name: 'http', port: 80, appProtocol: 'kubernetes.io/h2c' },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
      },
    };
    expect(projectRemoteService(object)).toEqual({
      ...identity,
      type: 'ClusterIP',
      headless: true,
      ports: [
        { name: 'http', port: 80, protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
    });
  });

  it('may be of any shape at all', () => {
    const odd = {
      metadata,
      spec: {
        type: 5,
        ports: [null, 'x', { port: '80' }, { port: 0 }, { port: 1, protocol: 'X' }],
      },
    } as unknown as ApiObject;
    expect(projectRemoteService(odd)).toEqual({
      ...identity,
      type: 'ClusterIP',
      headless: false,
      ports: [],
    });
    expect(projectRemoteService({ metadata, spec: null } as unknown as ApiObject)).not.toBeNull();
  });

  it.each([
    ['no metadata', undefined],
    ['a name that is none', { ...metadata, name: 'a/b' }],
    ['a namespace that is none', { ...metadata, namespace: 7 }],
    ['no version', { ...metadata, resourceVersion: '' }],
    ['a version that breaks the stored line', { ...metadata, resourceVersion: '7\n8' }],
    ['a UID that breaks the stored line', { ...metadata, uid: 'u\n1' }],
  ])('with %s is none that the view could go by', (_, meta) => {
    expect(projectRemoteService({ metadata: meta } as unknown as ApiObject)).toBeNull();
  });
});

describe('an EndpointSlice of a linked cluster', () => {
  it('keeps what look-ups answer with', () => {
    const endpoint = {
      addresses: ['10.1.0.5'],
      conditions: { ready: false, serving: true, terminating: true },
      hostname: 'web-0',
      nodeName: 'node-1',
      zone: 'z1',
      hints: { forZones: [{ name: 'z1' }] },
      targetRef: {
        kind: 'Pod',
        namespace: 'shop',
        name: 'web-0',
        uid: 'p-1',
        resourceVersion: '3',
      },
    };
    expect(sliceOf({ ports: [{ name: 'http', port: 8080 }], endpoints: [endpoint] })).toEqual({
      ...identity,
      service: 'shop/web',
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      endpoints: [
        {
          addresses: ['10.1.0.5'],
          ready: false,
          serving: true,
          terminating: true,
          hostname: 'web-0',
          nodeName: 'node-1',
          zone: 'z1',
          targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-0', uid: 'p-1' },
        },
      ],
    });
  });

  it('reads absent conditions as Kubernetes does', () => {
    for (const conditions of [undefined, null, {}, { ready: null }]) {
      const found = sliceOf({ endpoints: [{ addresses: ['10.1.0.5'], conditions }] });
      expect(found?.endpoints[0]).toMatchObject({ ready: true, serving: true, terminating: false });
    }
  });

  it('belongs to nothing without the label of its Service', () => {
    for (const other of [
      {},
      { 'kubernetes.io/service-name': '' },
      { 'kubernetes.io/service-name': 3 },
    ]) {
      const object = slice({}, { labels: other });
      expect(projectRemoteSlice(object, { allowFqdn: true })).toBeNull();
    }
  });

  it('of host names belongs into the view only where that is allowed', () => {
    const fields = { addressType: 'FQDN', endpoints: [{ addresses: ['db.example.net', '-no-'] }] };
    expect(sliceOf(fields)).toBeNull();
    expect(sliceOf(fields, true)).toMatchObject({
      addressType: 'FQDN',
      endpoints: [{ addresses: ['db.example.net'] }],
    });
    expect(sliceOf({ addressType: 'MAC' }, true)).toBeNull();
  });

  it('leaves out addresses that no endpoint can have', () => {
    const bad = ['127.0.0.1', '169.254.169.254', 'fd00::1', 'x', 7, null];
    expect(
      sliceOf({ endpoints: [{ addresses: bad }, { addresses: ['10.1.0.5', ...bad] }] }),
    ).toMatchObject({
      endpoints: [{ addresses: ['10.1.0.5'] }],
    });
  });

  it('may be of any shape at all', () => {
    const endpoints = [
      null,
      5,
      { addresses: 'x' },
      { addresses: ['10.1.0.5'], targetRef: 5, zone: {} },
    ];
    expect(sliceOf({ ports: {}, endpoints })).toMatchObject({
      ports: [],
      endpoints: [{ addresses: ['10.1.0.5'], ready: true }],
    });
    expect(sliceOf({ ports: [{ port: null }, { port: '1' }], endpoints: 'x' })).toMatchObject({
      ports: [{ name: '', port: null, protocol: 'TCP' }],
      endpoints: [],
    });
  });
});

describe('an ExternalWorkload of a linked cluster', () => {
  const mesh = { identity: 'spiffe://root.example/vm', serverName: 'vm.example' };
  const workload = (spec: unknown): ApiObject => ({ metadata, spec }) as ApiObject;

  it.each(['meshTLS', 'meshTls'])('has its mTLS identity from %s', (field) => {
    expect(projectRemoteWorkload(workload({ [field]: mesh }))).toEqual({ ...identity, ...mesh });
  });

  it.each([
    ['pruned', {}],
    ['empty', { meshTLS: { identity: '', serverName: '' } }],
    ['of the wrong type', { meshTLS: { identity: 5, serverName: null }, meshTls: 'x' }],
  ])('whose identity is %s has none, never an empty one', (_, spec) => {
    expect(projectRemoteWorkload(workload(spec))).toEqual(identity);
  });
});
