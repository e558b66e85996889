import { describe, expect, it } from '@jest/globals';
import {
  decodeService,
  decodeSlice,
  decodeWorkload,
  encodeService,
  encodeSlice,
  encodeWorkload,
  type Encoded,
} from '../../core/codec.ts';
import { projectService, projectSlice, projectWorkload } from '../../core/project.ts';

const text = ({ rv, uid, index, body }: Encoded): string => [rv, uid, index, body].join('\n');
const metadata = { name: 'x', namespace: 'shop', uid: 'u', resourceVersion: '7' };

describe('a record survives the view', () => {
  it('as a Service', () => {
    const record = projectService({
      metadata: { ...metadata, labels: { b: '2', a: '1' } },
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.0.0.1',
        ipFamilies: ['IPv4', 'IPv6'],
        selector: { app: 'web', tier: 'x' },
        trafficDistribution: 'PreferClose',
        ports: [{ port: 80 }, { name: 'b', port: 81, targetPort: 'http', appProtocol: 'h2c' }],
      },
    });
    expect(decodeService(text(encodeService(record)))).toEqual(record);
  });

  it('as a workload, with and without a Ready condition', () => {
    for (const status of [undefined, { conditions: [{ type: 'Ready', status: 'True' }] }]) {
      const record = projectWorkload({
        metadata: { ...metadata, labels: { 'example.test/line': 'a b' } },
        spec: {
          workloadIPs: [{ ip: '192.0.2.1' }],
          ports: [{ name: 'dns', port: 53, protocol: 'UDP' }],
        },
        ...(status ? { status } : {}),
      });
      expect(decodeWorkload(text(encodeWorkload(record)))).toEqual(record);
    }
  });

  const conditions = { ready: true, serving: true, terminating: false };
  const targetRef = { kind: 'ExternalWorkload', namespace: 'shop', name: 'vm', uid: 'uid-vm' };
  it.each([
    ['one of ours', { addresses: ['192.0.2.1'], conditions, targetRef }],
    [
      'one of ours with all there is',
      {
        addresses: ['192.0.2.1', '192.0.2.2'],
        conditions: { ready: false, serving: true, terminating: true },
        targetRef,
        hostname: 'vm',
        zone: 'z1',
        hints: { forZones: [{ name: 'z1' }] },
      },
    ],
    [
      'one with several hints',
      {
        addresses: ['192.0.2.1'],
        conditions,
        targetRef,
        hints: { forZones: [{ name: 'a' }, { name: 'b' }] },
      },
    ],
    [
      'one of another namespace',
      { addresses: ['192.0.2.1'], conditions, targetRef: { ...targetRef, namespace: 'other' } },
    ],
    [
      'a pod on a node',
      {
        addresses: ['192.0.2.1'],
        conditions,
        targetRef: { ...targetRef, kind: 'Pod' },
        nodeName: 'n1',
      },
    ],
    ['one of few words', { addresses: ['192.0.2.1'], conditions: {} }],
    [
      'one of ours that somebody extended',
      {
        addresses: ['192.0.2.1'],
        conditions,
        targetRef,
        hints: { forNodes: [{ name: 'n1' }] },
      },
    ],
  ])('as a slice that holds %s', (_what, endpoint) => {
    const first = {
      addresses: ['192.0.2.9'],
      conditions,
      targetRef: { ...targetRef, name: 'first' },
    };
    const record = projectSlice({
      metadata: {
        ...metadata,
        labels: { 'kubernetes.io/service-name': 'web' },
        finalizers: ['a/b'],
        annotations: { note: 'mine' },
      },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      endpoints: [first, endpoint],
    });
    expect(decodeSlice(text(encodeSlice(record)))).toEqual(record);
    expect(decodeSlice(text(encodeSlice({ ...record, endpoints: [] }))).endpoints).toEqual([]);
  });
});
