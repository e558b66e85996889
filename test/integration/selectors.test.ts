import { describe, expect, it } from '@jest/globals';
import { LABEL_HEADLESS, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { api, apiOk } from '../support/api.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  exists,
  mergePatch,
  remove,
  servicePath,
  setReady,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { runTether } from '../support/processes.ts';
import { upRig } from '../support/up-rig.ts';
import { warningsIn } from '../support/warnings.ts';

const rig = upRig('selectors', ['--log-format', 'json']);

const vm = (name: string, ip: string, labels: Record<string, string> = {}): Promise<unknown> =>
  createWorkload(rig.ns, name, 'web', { ips: [ip], labels });
const select = (name: string, selector: object | null, more: object = {}): Promise<unknown> =>
  createService(rig.ns, name, { spec: { selector, ...more } });

describe('a Service without a selector', () => {
  it('such as the API server’s own has no endpoints from us, whatever the labels (report 62)', async () => {
    const name = `vm-r-${process.pid}`;
    const own = await slicesOf('default', 'kubernetes', '');
    await createWorkload('default', name, 'kubernetes', {
      ips: ['192.0.2.62'],
      labels: { component: 'apiserver', provider: 'kubernetes' },
      ports: [{ name: 'https', port: 443 }, { port: 6443 }],
    });
    try {
      await rig.afterwards();
      const path = `${slicesPath('default')}?labelSelector=${LABEL_SERVICE_NAME}%3Dkubernetes`;
      const { items } = (await apiOk('GET', path)) as { readonly items: readonly object[] };
      expect(JSON.stringify(items)).not.toContain('192.0.2.62');
      expect(await slicesOf('default', 'kubernetes')).toEqual([]);
      expect(await slicesOf('default', 'kubernetes', '')).toEqual(own);
    } finally {
      await remove(workloadPath('default', name));
    }
  });

  it.each([
    ['an absent one', null],
    ['an empty one', {}],
  ])(
    'selects nothing (%s), where an empty label selector would select all (report 62)',
    async (_what, selector) => {
      await select('none', selector);
      await select('head', selector, { clusterIP: 'None' });
      await select('bare', selector, { clusterIP: 'None', ports: [] });
      await select('dual', selector, { ipFamilyPolicy: 'PreferDualStack' });
      await vm('vm', '192.0.2.1');
      await apiOk('POST', workloadPath(rig.ns), {
        apiVersion: 'workload.linkerd.io/v1beta1',
        kind: 'ExternalWorkload',
        metadata: { name: 'unlabelled' },
        spec: {
          meshTLS: { identity: 'spiffe://root.example/vm', serverName: 'vm.example' },
          workloadIPs: [{ ip: '192.0.2.2' }],
          ports: [{ port: 8080 }],
        },
      });
      await rig.afterwards();
      for (const name of ['none', 'head', 'bare', 'dual']) {
        expect(await slicesOf(rig.ns, name)).toEqual([]);
      }
      // Nor does it lose what somebody else gave it by hand.
      await apiOk('POST', slicesPath(rig.ns), {
        metadata: { name: 'by-hand', labels: { [LABEL_SERVICE_NAME]: 'none' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['192.0.2.99'] }],
        ports: [{ port: 8080 }],
      });
      await mergePatch(servicePath(rig.ns, 'none'), { metadata: { labels: { changed: 'yes' } } });
      await setReady(rig.ns, 'vm', false);
      await rig.afterwards();
      expect(await exists(slicesPath(rig.ns, 'by-hand'))).toBe(true);
      expect(await slicesOf(rig.ns, 'none')).toEqual([]);
    },
  );

  it('that had one and gets it back, emptied or taken away, is followed (report 62)', async () => {
    await select('web', { app: 'web' });
    await vm('vm', '192.0.2.1');
    for (const patch of [null, { app: null }]) {
      await rig.endpointsBecome('web', ['192.0.2.1 8080 ready']);
      await mergePatch(servicePath(rig.ns, 'web'), { spec: { selector: patch } });
      await rig.noSlices('web');
      await mergePatch(servicePath(rig.ns, 'web'), { spec: { selector: { app: 'web' } } });
    }
    await rig.endpointsBecome('web', ['192.0.2.1 8080 ready']);
  });
});

describe('a selector', () => {
  it('wants every pair of it, key and value to the letter (B3)', async () => {
    await select('web', { app: 'web', live: 'true', count: '1' });
    await vm('value', '192.0.2.2', { live: 'True', count: '1' });
    await vm('key', '192.0.2.3', { Live: 'true', count: '1' });
    await vm('part', '192.0.2.4', { live: 'true' });
    await vm('prefix', '192.0.2.5', { live: 'true', count: '10' });
    // The right one last: once it is in, the others were judged.
    await vm('right', '192.0.2.1', { live: 'true', count: '1', more: 'x' });
    await rig.endpointsBecome('web', ['192.0.2.1 8080 ready']);
  });

  it('may be as long as labels may be, and of as many (B3)', async () => {
    const prefix = ['a', 'b', 'c'].map((letter) => letter.repeat(63)).join('.');
    const longest = `${prefix}.${'d'.repeat(61)}/${'k'.repeat(63)}`;
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`key-${at}`, `${at}`]));
    const labels = { ...many, [longest]: 'v'.repeat(63), 'a-b.c/D-e_F.g': 'x_Y.z-1' };
    await select('web', labels);
    await vm('wrong', '192.0.2.2', { ...labels, [longest]: 'v'.repeat(62) });
    await vm('fewer', '192.0.2.3', { ...labels, 'key-59': '' });
    await vm('right', '192.0.2.1', labels);
    await rig.endpointsBecome('web', ['192.0.2.1 8080 ready']);
    await mergePatch(workloadPath(rig.ns, 'right'), { metadata: { labels: { [longest]: null } } });
    await rig.noSlices('web');
    await mergePatch(workloadPath(rig.ns, 'wrong'), { metadata: { labels } });
    await rig.endpointsBecome('web', ['192.0.2.2 8080 ready']);
  });

  it('of words that every JavaScript object has is a selector like any other (B3)', async () => {
    const words = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'length'];
    for (const word of words) {
      await select(`s-${word.toLowerCase()}`, { [word]: 'x' });
      await select(`e-${word.toLowerCase()}`, { [word]: '' });
    }
    await vm('none', '192.0.2.1');
    await vm('all', '192.0.2.2', Object.fromEntries(words.map((word) => [word, 'x'])));
    await vm('empty', '192.0.2.3', Object.fromEntries(words.map((word) => [word, ''])));
    for (const word of words) {
      await rig.endpointsBecome(`e-${word.toLowerCase()}`, ['192.0.2.3 8080 ready']);
      await rig.endpointsBecome(`s-${word.toLowerCase()}`, ['192.0.2.2 8080 ready']);
    }
  });

  it('ends at its namespace (B3)', async () => {
    const elsewhere = await freshNamespace('selectors');
    await select('web', { app: 'web' });
    await createService(elsewhere, 'web');
    await createWorkload(elsewhere, 'vm', 'web', { ips: ['192.0.2.9'] });
    await vm('vm', '192.0.2.1');
    await rig.endpointsBecome('web', ['192.0.2.1 8080 ready']);
    await remove(workloadPath(rig.ns, 'vm'));
    await rig.noSlices('web');
    expect(await slicesOf(elsewhere, 'web')).toHaveLength(1);
  });

  it('that two Services share gives each the whole of it (B3)', async () => {
    const names = Array.from({ length: 10 }, (_, at) => `web-${at}`);
    await Promise.all(names.map((name) => select(name, { app: 'web' })));
    await vm('vm', '192.0.2.1');
    for (const name of names) await rig.endpointsBecome(name, ['192.0.2.1 8080 ready']);
    await remove(workloadPath(rig.ns, 'vm'));
    for (const name of names) await rig.noSlices(name);
  });
});

describe('a headless Service without ports', () => {
  it.each([
    ['no ports of its own', []],
    [
      'named ports',
      [
        { name: 'http', port: 8080 },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
    ],
  ])(
    'has its workloads (with %s), and an empty list of ports (E1, report 63)',
    async (_what, ports) => {
      await select('peers', { app: 'peer' }, { clusterIP: 'None', ports: [] });
      await createWorkload(rig.ns, 'a', 'peer', { ips: ['192.0.2.1'], ports });
      await createWorkload(rig.ns, 'b', 'peer', { ips: ['192.0.2.2'], ports, ready: false });
      const slice = await rig.sliceBecomes('peers', ['192.0.2.1  ready', '192.0.2.2  not-ready']);
      // The API server gives an empty list back as null.
      expect(slice.ports ?? []).toEqual([]);
      expect(slice.endpoints?.map(({ hostname }) => hostname).sort()).toEqual(['a', 'b']);
      expect(slice.metadata?.labels).toHaveProperty([LABEL_HEADLESS], '');
      expect(await warningsIn(rig.ns)).toEqual([]);
    },
  );

  it('follows what its workloads become, ports or none, to the last (report 63)', async () => {
    await select('peers', { app: 'peer' }, { clusterIP: 'None', ports: [] });
    await createWorkload(rig.ns, 'a', 'peer', { ips: ['192.0.2.1'] });
    await rig.sliceBecomes('peers', ['192.0.2.1  ready']);
    await mergePatch(workloadPath(rig.ns, 'a'), { spec: { workloadIPs: [{ ip: '192.0.2.2' }] } });
    const slice = await rig.sliceBecomes('peers', ['192.0.2.2  ready']);
    // A look at it that nothing led to finds nothing to write.
    const wait = ['--wait', '--redis-prefix', 'selectors'];
    const { stdout } = await runTether(['reconcile', 'service', `${rig.ns}/peers`, ...wait]);
    expect(stdout).toContain('nothing to write');
    expect(await rig.onlySlice('peers')).toEqual(slice);
    await setReady(rig.ns, 'a', false);
    await rig.sliceBecomes('peers', ['192.0.2.2  not-ready']);
    await remove(workloadPath(rig.ns, 'a'));
    await rig.noSlices('peers');
  });

  it('that gets ports has those, of the workloads that have them, and may lose them again (report 63)', async () => {
    await select('peers', { app: 'peer' }, { clusterIP: 'None', ports: [] });
    await createWorkload(rig.ns, 'a', 'peer', { ips: ['192.0.2.1'] });
    await createWorkload(rig.ns, 'b', 'peer', { ips: ['192.0.2.2'], ports: [{ port: 9090 }] });
    await rig.sliceBecomes('peers', ['192.0.2.1  ready', '192.0.2.2  ready']);
    const respec = (ports: readonly object[]): Promise<unknown> =>
      mergePatch(servicePath(rig.ns, 'peers'), { spec: { ports } });
    await respec([{ name: 'http', port: 80, targetPort: 8080 }]);
    await rig.sliceBecomes('peers', ['192.0.2.1 8080 ready']);
    await respec([]);
    await rig.sliceBecomes('peers', ['192.0.2.1  ready', '192.0.2.2  ready']);
  });

  it('is the only kind that may do without: others are refused by the API server (report 63)', async () => {
    const path = `/api/v1/namespaces/${rig.ns}/services`;
    const spec = { selector: { app: 'web' }, ports: [] };
    const answer = await api('POST', path, { metadata: { name: 'web' }, spec });
    expect(answer.status).toBe(422);
  });
});

it('none of this was an error', () => {
  expect(rig.tether.stdout() + rig.tether.stderr()).not.toMatch(/"level":"(error|warn)"/);
});
