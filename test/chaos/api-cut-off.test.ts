import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { say } from '../support/churn.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  remove,
  setReady,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { startApiProxy, type ApiProxy } from '../support/proxy.ts';

/** One watcher and one worker, each with a way to the API server that can be cut. */
let ns: string;
let fleet: Fleet;
let api: ApiProxy;
let workersApi: ApiProxy;
beforeAll(async () => {
  ns = await freshNamespace('cut');
  fleet = openFleet(ns);
  api = await startApiProxy();
  const watcher = { kubeconfig: api.kubeconfig, args: ['--watch-idle-seconds', '2'] };
  workersApi = await startApiProxy();
  const worker = { kubeconfig: workersApi.kubeconfig, args: ['--request-timeout', '1'] };
  await Promise.all([fleet.start('watcher', watcher), fleet.start('worker', worker)]);
});
afterAll(async () => {
  await fleet.killAll();
  await api.close();
  await workersApi.close();
});
beforeEach(() => {
  app += 1;
});
let app = 0;

const endpointsBecome = (service: string, ...expected: string[]): Promise<void> =>
  eventually(async () => expect(await endpointsOf(ns, service)).toEqual(expected));

/** How often the watcher began anew after a failure. */
function tries(): number {
  const output = fleet.watchers.map((watcher) => watcher.stdout()).join('');
  return output.split('list and watch will be tried again').length - 1;
}

describe('a watcher that is cut off from the API server while a workload is deleted (report 87)', () => {
  test.each(['cut', 'freeze'] as const)(
    'by a %s: removed at reconnect, without a further change',
    async (how) => {
      const web = `web-${app}`;
      await createService(ns, web);
      await createWorkload(ns, `${web}-a`, web, { ips: ['192.0.2.1'] });
      await createWorkload(ns, `${web}-b`, web, { ips: ['192.0.2.2'] });
      await endpointsBecome(web, '192.0.2.1 8080 ready', '192.0.2.2 8080 ready');
      const before = tries();
      api.proxy[how]();
      await remove(workloadPath(ns, `${web}-b`));
      // It has noticed, and tries again.
      await eventually(() => expect(tries()).toBeGreaterThan(before));
      const from = performance.now();
      api.proxy.restore();
      await endpointsBecome(web, '192.0.2.1 8080 ready');
      say(
        `watcher cut off (${how}): right ${Math.round(performance.now() - from)} ms after the way was free`,
      );
    },
  );

  test('the last workload of a Service: its slice goes, too', async () => {
    const web = `web-${app}`;
    await createService(ns, web);
    await createWorkload(ns, `${web}-a`, web);
    await endpointsBecome(web, '192.0.2.10 8080 ready');
    api.proxy.cut();
    await remove(workloadPath(ns, `${web}-a`));
    api.proxy.restore();
    await eventually(async () => expect(await slicesOf(ns, web)).toEqual([]));
  });
});

describe('a worker that is cut off from the API server', () => {
  test.each(['cut', 'freeze'] as const)(
    'by a %s: it takes no keys until the way is free, and then they come again',
    async (how) => {
      const web = `web-${app}`;
      await createService(ns, web);
      await createWorkload(ns, `${web}-a`, web);
      await endpointsBecome(web, '192.0.2.10 8080 ready');
      await fleet.untilQuiet();
      workersApi.proxy[how]();
      await setReady(ns, `${web}-a`, false);
      const why = how === 'cut' ? '(closed|reset) by the other side' : 'gave no answer within 2 s';
      const [worker] = fleet.workers;
      await worker?.untilLog(
        new RegExp(`${why}.*"the API server does not answer: no key is taken`),
      );
      workersApi.proxy.restore();
      await endpointsBecome(web, '192.0.2.10 8080 not-ready');
      await fleet.untilQuiet();
    },
  );
});
