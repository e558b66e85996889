import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import { startApiInterceptor, type ApiInterceptor } from '../support/api-interceptor.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { held } from '../support/misbehaviours.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  mergePatch,
  nameOf,
  servicePath,
  setReady,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { rigOf } from '../support/up-rig.ts';

/** One watcher and one worker; each test has a Service of its own. */
let ns: string;
let fleet: Fleet;
let between: ApiInterceptor;
const rig = rigOf(() => ns);
beforeAll(async () => {
  ns = await freshNamespace('reruns');
  fleet = openFleet(ns);
  between = await startApiInterceptor();
  const way = { kubeconfig: between.kubeconfig };
  await Promise.all([fleet.start('watcher', way), fleet.start('worker', way)]);
});
afterAll(async () => {
  await fleet.killAll();
  await between.close();
});
let web = '';
let count = 0;
beforeEach(() => {
  count += 1;
  web = `web-${count}`;
});

const READY = ['192.0.2.10 8080 ready'];
const runs = (): Promise<number> => fleet.count('tether_reconciles_total');
const writes = async (): Promise<number> => {
  const of = (verb: string) =>
    fleet.count('tether_api_requests_total', `verb="${verb}",resource="endpointslices"`);
  return (await of('create')) + (await of('update')) + (await of('delete'));
};

/** Does something to a Service that is served, and gives what it cost: all of its events have come. */
async function costOf(change: () => Promise<unknown>): Promise<{ runs: number; writes: number }> {
  await createService(ns, web);
  await createService(ns, `${web}-last`);
  await createWorkload(ns, web, web);
  await createWorkload(ns, `${web}-last`, `${web}-last`);
  await rig.endpointsBecome(web, READY);
  await rig.endpointsBecome(`${web}-last`, READY);
  await settled();
  const before = { runs: await runs(), writes: await writes() };
  await change();
  // Of each kind one event after those of the change, with a run and a write of its own.
  await setReady(ns, `${web}-last`, false);
  await rig.endpointsBecome(`${web}-last`, ['192.0.2.10 8080 not-ready']);
  const ports = [{ name: 'http', port: 81, targetPort: 8080 }];
  await mergePatch(servicePath(ns, `${web}-last`), { spec: { ports } });
  await eventually(async () => expect(await runs()).toBeGreaterThanOrEqual(before.runs + 2));
  const slice = nameOf(await rig.onlySlice(`${web}-last`));
  await mergePatch(slicesPath(ns, slice), { metadata: { labels: { odd: 'yes' } } });
  await eventually(async () =>
    expect((await rig.onlySlice(`${web}-last`)).metadata?.labels).not.toHaveProperty('odd'),
  );
  await settled();
  return { runs: (await runs()) - before.runs - 3, writes: (await writes()) - before.writes - 2 };
}

/** Nothing is queued, nor is an event of a slice on its way (they are judged 150 ms late). */
async function settled(): Promise<void> {
  await fleet.untilQuiet();
  const last = await runs();
  await eventually(async () => expect(await runs()).toBe(last));
}

const status = (conditions: readonly object[]): Promise<unknown> =>
  mergePatch(`${workloadPath(ns, web)}/status`, { status: { conditions } });

/** What was done to a Service or a workload that no slice shows. */
const UNSEEN: Readonly<Record<string, () => Promise<unknown>>> = {
  'an annotation of the workload, thirty times': async () => {
    for (let at = 0; at < 30; at += 1) {
      const annotations = { 'example.com/seen': `${at}` };
      await mergePatch(workloadPath(ns, web), { metadata: { annotations } });
    }
  },
  'when and why it became ready': async () => {
    for (const second of ['01', '02', '03']) {
      const lastTransitionTime = `2026-01-01T00:00:${second}Z`;
      await status([{ type: 'Ready', status: 'True', lastTransitionTime, reason: `P${second}` }]);
    }
  },
  'another condition of the workload': () =>
    status([
      { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
      { type: 'Patched', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ]),
  'its identity': () =>
    mergePatch(workloadPath(ns, web), { spec: { meshTLS: { identity: 'spiffe://x/y' } } }),
  'a finalizer of the workload': async () => {
    const path = workloadPath(ns, web);
    await mergePatch(path, { metadata: { finalizers: ['example.com/wait'] } });
    await mergePatch(path, { metadata: { finalizers: [] } });
  },
  'who manages its fields': () =>
    apiOk(
      'PATCH',
      `${workloadPath(ns, web)}?fieldManager=somebody&force=true`,
      {
        apiVersion: 'workload.linkerd.io/v1beta1',
        kind: 'ExternalWorkload',
        metadata: { name: web },
        spec: { workloadIPs: [{ ip: '192.0.2.10' }] },
      },
      { contentType: 'application/apply-patch+yaml' },
    ),
  'a label that no selector asks for': () =>
    mergePatch(workloadPath(ns, web), { metadata: { labels: { rack: '7' } } }),
  'an annotation of the Service': () =>
    mergePatch(servicePath(ns, web), { metadata: { annotations: { note: 'x' } } }),
  'a condition of the Service': () =>
    mergePatch(`${servicePath(ns, web)}/status`, {
      status: {
        conditions: [
          {
            type: 'example.com/Checked',
            status: 'True',
            reason: 'Checked',
            message: '',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      },
    }),
};

describe('a change that no slice shows (report 93)', () => {
  test(`no run, no write: ${Object.keys(UNSEEN).join('; ')}`, async () => {
    const cost = await costOf(async () => {
      for (const change of Object.values(UNSEEN)) await change();
    });
    expect(cost).toEqual({ runs: 0, writes: 0 });
  });

  test('an annotation of our slice, by somebody else: no write', async () => {
    const cost = await costOf(async () => {
      const name = nameOf(await rig.onlySlice(web));
      for (let at = 0; at < 10; at += 1) {
        const annotations = { 'example.com/seen': `${at}` };
        await mergePatch(slicesPath(ns, name), { metadata: { annotations } });
      }
    });
    expect(cost.writes).toBe(0);
    expect(cost.runs).toBeLessThanOrEqual(10);
  });

  test('the same event a hundred times: no run, no write (report 91)', async () => {
    const again = (line: string): string => Array.from({ length: 100 }, () => line).join('\n');
    between.rewrite = (text, { verb }) => (verb === 'watch' ? again(text) : text);
    try {
      const annotations = { 'example.com/seen': 'x' };
      const cost = await costOf(async () => {
        await mergePatch(workloadPath(ns, web), { metadata: { annotations } });
        await mergePatch(servicePath(ns, web), { metadata: { annotations } });
      });
      expect(cost).toEqual({ runs: 0, writes: 0 });
    } finally {
      between.rewrite = (text) => text;
    }
  });
});

describe('what is not there yet is waited for, and missed by nobody (report 95)', () => {
  test('a workload that is ready before there is a Service', async () => {
    await createWorkload(ns, web, web);
    await fleet.untilQuiet();
    await createService(ns, web);
    await rig.endpointsBecome(web, READY);
  });

  test('a workload whose address comes later', async () => {
    await createService(ns, web);
    await createWorkload(ns, web, web, { ips: [] });
    await fleet.untilQuiet();
    const spec = { workloadIPs: [{ ip: '192.0.2.10' }] };
    await mergePatch(workloadPath(ns, web), { spec });
    await rig.endpointsBecome(web, READY);
  });

  test('a workload whose status, or whose port, comes later', async () => {
    await createService(ns, web);
    const ports = [{ name: 'admin', port: 9090 }];
    await createWorkload(ns, web, web, { ready: null, ports });
    await fleet.untilQuiet();
    await mergePatch(workloadPath(ns, web), { spec: { ports: [{ name: 'http', port: 8080 }] } });
    await rig.endpointsBecome(web, ['192.0.2.10 8080 not-ready']);
    await setReady(ns, web, true);
    await rig.endpointsBecome(web, READY);
  });

  test('a Service whose selector, or whose ports, come later', async () => {
    await createWorkload(ns, web, web);
    await createService(ns, web, { spec: { selector: null } });
    await fleet.untilQuiet();
    await mergePatch(servicePath(ns, web), { spec: { selector: { app: web } } });
    await rig.endpointsBecome(web, READY);
  });

  test('a list of Services that comes after those of the other kinds, when a watcher starts', async () => {
    const gate = held();
    const own = await freshNamespace('late');
    const late = openFleet(own);
    const lateRig = rigOf(() => own);
    await createService(own, web);
    await createWorkload(own, web, web);
    between.rule = ({ verb, path }) =>
      verb === 'list' && path === '/api/v1/services' ? gate.behaviour : undefined;
    const others = between.requests.length;
    const started = Promise.all([
      late.start('watcher', { kubeconfig: between.kubeconfig }),
      late.start('worker'),
    ]);
    await eventually(() =>
      expect(between.requests.slice(others).some(({ verb }) => verb === 'watch')).toBe(true),
    );
    between.rule = () => undefined;
    gate.release();
    await started;
    await lateRig.endpointsBecome(web, READY);
    for (const member of [...late.workers, ...late.watchers]) await late.kill(member);
  });
});
