import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Queue } from 'bullmq';
import type { ApiExternalWorkload } from '../../core/api-objects.ts';
import { queuePrefix } from '../../core/job.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { startApiInterceptor, type ApiInterceptor } from '../support/api-interceptor.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import {
  answer,
  blackHole,
  cut,
  html,
  JSON_TYPE,
  refuse,
  silence,
  type Behaviour,
} from '../support/misbehaviours.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  remove,
  servicePath,
  setReady,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { openRedis } from '../support/redis.ts';
import { rigOf } from '../support/up-rig.ts';

/*
 * The API server, or what stands before it, fails for one Service alone: that one is late, no other
 * one is, and no change is ever taken for written that was not.
 */
let ns: string;
let fleet: Fleet;
let between: ApiInterceptor;
let anyone: Queue;
let connection: RedisClient;
const rig = rigOf(() => ns);
beforeAll(async () => {
  ns = await freshNamespace('fails');
  fleet = openFleet(ns);
  between = await startApiInterceptor();
  connection = openRedis();
  anyone = new Queue('service', { connection, prefix: queuePrefix(fleet.prefix) });
  const way = { kubeconfig: between.kubeconfig };
  const worker = { ...way, args: ['--request-timeout', '1'] };
  await Promise.all([fleet.start('watcher', way), fleet.start('worker', worker)]);
});
afterAll(async () => {
  await fleet.killAll();
  await between.close();
  await anyone.close();
  connection.disconnect();
});
afterEach(() => {
  between.rule = () => undefined;
  between.rewrite = (text) => text;
});
let count = 0;
let bad: string;
let good: string;
beforeEach(() => {
  count += 1;
  bad = `bad-${count}`;
  good = `good-${count}`;
});

const AT_FIRST = ['192.0.2.10 8080 ready'];
const AFTERWARDS = ['192.0.2.10 8080 not-ready'];

async function bothAreServed(): Promise<void> {
  for (const name of [bad, good]) {
    await createService(ns, name);
    await createWorkload(ns, name, name);
  }
  for (const name of [bad, good]) await rig.endpointsBecome(name, AT_FIRST);
}

/** Writes of this Service's slices end so; gives how many did. */
function spoilWrites(service: string, behaviour: Behaviour): () => number {
  let spoilt = 0;
  between.rule = ({ method, path }) => {
    if (method === 'GET' || !path.startsWith(slicesPath(ns, `${service}-ew-`))) return undefined;
    spoilt += 1;
    return behaviour;
  };
  return () => spoilt;
}

/** The answer begins, and its rest never comes: by a cut, or by nothing at all. */
const half =
  (ending: 'cut' | 'silence'): Behaviour =>
  (request, response) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '1000' });
    response.write('{"kind":"EndpointSlice","metadata":{"na', () => {
      if (ending === 'cut') request.socket.destroy();
    });
  };

const text = (code: number, body: string): Behaviour =>
  answer(code, body, { 'content-type': 'text/plain' });
const json = (code: number, body: unknown): Behaviour =>
  answer(code, JSON.stringify(body), JSON_TYPE);

describe('writes of one Service fail: the others are served, and it is made right by itself (reports 94 and 97)', () => {
  test.each<[what: string, behaviour: Behaviour]>([
    ['500', refuse(500, { reason: 'InternalError' })],
    ['400, as a webhook that denies', refuse(400, { reason: 'BadRequest' })],
    ['401', refuse(401, { reason: 'Unauthorized' })],
    ['409 that is no Status', text(409, 'Conflict\n')],
    ['429 with Retry-After', refuse(429, { reason: 'TooManyRequests' }, { 'retry-after': '1' })],
    ['502 of a proxy, in HTML', html(502)],
    ['503 of a proxy, as text', text(503, 'no backend is up\n')],
    ['504 without a body', text(504, '')],
    ['404 of a proxy, in HTML', html(404)],
    ['404 of a server that is starting', text(404, '404 page not found\n')],
    ['a redirect', answer(302, '', { location: 'http://127.0.0.1:1/login' })],
    ['success, in HTML', html(200)],
    ['success without a body', text(200, '')],
    ['success, and null', json(200, null)],
    ['success, and an object that is none', json(200, {})],
    ['success, and another object', json(200, { kind: 'Status', status: 'Success' })],
    ['a cut connection', cut],
    ['half an answer, and a cut', half('cut')],
    ['half an answer, and silence', half('silence')],
    ['a status, and silence', silence],
    ['no answer at all', blackHole],
  ])('by %s', async (_what, behaviour) => {
    await bothAreServed();
    const spoilt = spoilWrites(bad, behaviour);
    await setReady(ns, bad, false);
    await eventually(() => expect(spoilt()).toBeGreaterThanOrEqual(1));
    await setReady(ns, good, false);
    await rig.endpointsBecome(good, AFTERWARDS);
    // It is tried again, not given up.
    await eventually(() => expect(spoilt()).toBeGreaterThanOrEqual(2));
    expect(await slicesOf(ns, bad)).toMatchObject([
      { endpoints: [{ conditions: { ready: true } }] },
    ]);
    between.rule = () => undefined;
    await rig.endpointsBecome(bad, AFTERWARDS);
  });

  test('by a lost answer to a write that was made: it is not made twice', async () => {
    await bothAreServed();
    let lost = 0;
    between.rule = ({ method, path }) => {
      const hit = lost === 0 && method === 'POST' && path === slicesPath(ns);
      if (!hit) return undefined;
      lost += 1;
      return (incoming, response, proceed) => {
        response.end = () => {
          incoming.socket.destroy();
          return response;
        };
        proceed();
      };
    };
    const ports = [{ name: 'http', port: 80, targetPort: 'http' }];
    await mergePatch(servicePath(ns, bad), { spec: { ports } });
    const other = [{ name: 'http', port: 9090, protocol: 'TCP' }];
    await createWorkload(ns, `${bad}-2`, bad, { ips: ['192.0.2.11'], ports: other });
    await rig.endpointsBecome(bad, [...AT_FIRST, '192.0.2.11 9090 ready']);
    await fleet.untilQuiet();
    expect(lost).toBe(1);
    expect(await slicesOf(ns, bad)).toHaveLength(2);
  });
});

describe('the first write of a Service, and the last one, fail (report 94)', () => {
  test.each<[what: string, behaviour: Behaviour]>([
    ['404 of a proxy, in HTML', html(404)],
    ['404 of a server that is starting', text(404, '404 page not found\n')],
    ['success, and an object that is none', json(200, {})],
    ['success, and null', json(200, null)],
  ])('%s is no success', async (_what, behaviour) => {
    for (const method of ['POST', 'DELETE']) {
      let spoilt = 0;
      between.rule = (request) => {
        if (request.method !== method || !request.path.startsWith(slicesPath(ns))) return undefined;
        spoilt += 1;
        return behaviour;
      };
      if (method === 'POST') {
        await createService(ns, bad);
        await createWorkload(ns, bad, bad);
      } else {
        await remove(workloadPath(ns, bad));
      }
      await eventually(() => expect(spoilt).toBeGreaterThanOrEqual(2));
      between.rule = () => undefined;
      await rig.endpointsBecome(bad, method === 'POST' ? AT_FIRST : []);
    }
    await rig.noSlices(bad);
  });
});

describe('a read of one Service fails: nothing is taken for gone (report 94)', () => {
  test.each<[what: string, of: 'object' | 'lists', behaviour: Behaviour]>([
    ['404 of a proxy, in HTML', 'object', html(404)],
    ['404 of a server that is starting', 'object', text(404, '404 page not found\n')],
    ['success, and null', 'object', json(200, null)],
    ['success, and an object that is none', 'object', json(200, {})],
    ['403', 'object', refuse(403, { reason: 'Forbidden' })],
    ['404 of a proxy, in HTML', 'lists', html(404)],
    ['success, and a list that is none', 'lists', json(200, { items: [] })],
    ['500', 'lists', refuse(500)],
  ])('%s, of the %s', async (_what, of, behaviour) => {
    await bothAreServed();
    let spoilt = 0;
    between.rule = ({ method, path, query }) => {
      const hit = of === 'object' ? path === servicePath(ns, bad) : query.toString().includes(bad);
      if (method !== 'GET' || !hit) return undefined;
      spoilt += 1;
      return behaviour;
    };
    // A plain add, as a script makes it, is always read live.
    await anyone.add('reconcile', { key: `${ns}/${bad}` });
    await eventually(() => expect(spoilt).toBeGreaterThanOrEqual(1));
    await setReady(ns, good, false);
    await rig.endpointsBecome(good, AFTERWARDS);
    expect(await slicesOf(ns, bad)).toHaveLength(1);
    between.rule = () => undefined;
    await setReady(ns, bad, false);
    await rig.endpointsBecome(bad, AFTERWARDS);
  });
});

describe('a workload that cannot be read, under a lax CRD of somebody else (report 94)', () => {
  const five = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5'];

  /** All who read workloads see this one with that in it. */
  function spoilWorkload(name: string, spoil: (object: ApiExternalWorkload) => object): void {
    const spoilOne = (object: ApiExternalWorkload): object =>
      object.metadata?.name === name ? spoil(object) : object;
    between.rewrite = (body, { path, verb }) => {
      if (!path.endsWith('/externalworkloads') || !body.startsWith('{')) return body;
      if (verb === 'watch') {
        const event = JSON.parse(body) as { readonly object: ApiExternalWorkload };
        return JSON.stringify({ ...event, object: spoilOne(event.object) });
      }
      const list = JSON.parse(body) as { readonly items?: readonly ApiExternalWorkload[] };
      return JSON.stringify({ ...list, items: list.items?.map(spoilOne) ?? [] });
    };
  }

  const ODD: readonly (readonly [what: string, spec: unknown])[] = [
    [
      'addresses that are text',
      { workloadIPs: '192.0.2.9', ports: [{ name: 'http', port: 8080 }] },
    ],
    ['an address that is null', { workloadIPs: [null], ports: [{ name: 'http', port: 8080 }] }],
    ['an address that is a number', { workloadIPs: [{ ip: 7 }], ports: [{ port: 8080 }] }],
    ['ports that are an object', { workloadIPs: [{ ip: '192.0.2.9' }], ports: { http: 8080 } }],
    ['a port that is null', { workloadIPs: [{ ip: '192.0.2.9' }], ports: [null] }],
    ['a port that is text', { workloadIPs: [{ ip: '192.0.2.9' }], ports: [{ port: '8080' }] }],
    ['a spec that is text', 'none'],
    ['no spec', null],
  ];

  test.each(['as the watch shows it', 'as a live read shows it'])(
    '%s: the others are published, and it is told of',
    async (how) => {
      await createService(ns, bad);
      for (const [at, ip] of five.entries()) {
        await createWorkload(ns, `${bad}-${at}`, bad, { ips: [ip] });
      }
      await rig.endpointsBecome(
        bad,
        five.map((ip) => `${ip} 8080 ready`),
      );
      const others = five.slice(0, 4);
      for (const [what, spec] of ODD) {
        spoilWorkload(`${bad}-4`, (object) => ({ ...object, spec }));
        if (how === 'as the watch shows it') {
          await mergePatch(workloadPath(ns, `${bad}-4`), { metadata: { labels: { note: 'odd' } } });
        }
        await anyone.add('reconcile', { key: `${ns}/${bad}` });
        await eventually(async () => {
          const endpoints = await endpointsOf(ns, bad);
          expect({ what, endpoints }).toEqual({
            what,
            endpoints: others.map((ip) => `${ip} 8080 ready`),
          });
        });
        // The others are followed as ever.
        await setReady(ns, `${bad}-0`, false);
        await eventually(async () =>
          expect(await endpointsOf(ns, bad)).toContain('192.0.2.1 8080 not-ready'),
        );
        await setReady(ns, `${bad}-0`, true);
        between.rewrite = (body) => body;
        await mergePatch(workloadPath(ns, `${bad}-4`), { metadata: { labels: { note: null } } });
        await rig.endpointsBecome(
          bad,
          five.map((ip) => `${ip} 8080 ready`),
        );
      }
      const told = new RegExp(`"workload":"${bad}-4","reason":"[a-z-]+".*"msg":"left out"`);
      await fleet.workers[0]?.untilLog(told);
    },
  );
});
