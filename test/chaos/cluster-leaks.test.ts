import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decisionsKey, toldKey, watchesKey } from '../../platform/redis/clusters/keys.ts';
import { createClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { ApiDouble, DOUBLE_TOKEN } from '../support/api-double.ts';
import { apiOk } from '../support/api.ts';
import { clusterSecret } from '../support/cluster-secret.ts';
import { openEventStream, type EventStream, type SeenEvent } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { INSPECTABLE, inspect, type Held, type Inspector } from '../support/inspector.ts';
import { webService, webSlice } from '../support/linked-rig.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService } from '../support/objects.ts';
import { spawnTether, type TetherProcess } from '../support/processes.ts';
import { keysOf, openRedis } from '../support/redis.ts';
import { fromRun } from '../support/run.ts';

/** Lives of a cluster Secret: made, rotated, deleted. TETHER_CLUSTER_CYCLES=1000 is the long form. */
const CYCLES = Number(process.env['TETHER_CLUSTER_CYCLES'] ?? 100);
const AT_ONCE = 10;
/** What is loaded and compiled once is there after these. */
const WARM_UP = 20;
/** Bytes that the heap may differ by, however many cycles there were. */
const NOISE = 3 * 1024 * 1024;
const LIMIT_MS = 120_000 + CYCLES * 2_000;
const WATCHES = 3;
/** Ten lives at once on a machine that does a lot besides take their time. */
const PATIENT = { timeoutMs: 120_000 } as const;

let ns: string;
let fleet: Fleet;
let double: ApiDouble;
/** Where look-ups are answered. */
let lookupUrl = '';
let redis: RedisClient;

beforeAll(async () => {
  ns = await freshNamespace('leaks');
  fleet = openFleet(ns);
  double = await ApiDouble.start();
  double.put('services', webService());
  double.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
  await createService(ns, 'web');
  redis = openRedis();
});
afterAll(async () => {
  redis.disconnect();
  await double.close();
});

/** A process with its inspector. */
interface Member {
  readonly name: string;
  readonly process: TetherProcess;
  readonly inspector: Inspector;
}

async function startMember(role: 'watcher' | 'worker'): Promise<Member> {
  const started = await fleet.start(role, {
    args: ['--namespace', ns, '--clusters-allow-loopback', 'true'],
    env: { NODE_OPTIONS: INSPECTABLE },
  });
  return { name: role, process: started, inspector: await inspect(started) };
}

async function startLookup(): Promise<Member> {
  const log = ['--log-level', 'debug', '--log-format', 'json'];
  const started = spawnTether(['lookup', '--redis-prefix', fleet.prefix, ...log], {
    env: { NODE_OPTIONS: INSPECTABLE },
    lifetime: 'file',
  });
  lookupUrl = (await started.untilLog(/"lookupUrl":"([^"]+)"/))[1] ?? '';
  return { name: 'lookup', process: started, inspector: await inspect(started) };
}

const secretsPath = (name = ''): string => `/api/v1/namespaces/${ns}/secrets${name && `/${name}`}`;

const put = (cluster: string, kubeconfig: string): Promise<unknown> =>
  apiOk('PUT', secretsPath(cluster), clusterSecret(cluster, cluster, kubeconfig));

const create = (cluster: string, kubeconfig: string): Promise<unknown> =>
  apiOk('POST', secretsPath(), clusterSecret(cluster, cluster, kubeconfig));

const remove = (cluster: string): Promise<unknown> => apiOk('DELETE', secretsPath(cluster));

/** A name that no cycle had before, so that whatever is kept by name shows. */
const nameOf = (nth: number): string => `leak-${nth}`;

/** Follows a Service of a cluster from the time when it is known. */
async function follow(cluster: string, service: string): Promise<EventStream> {
  const url = `${lookupUrl}/v1/clusters/${cluster}/services/${service}/endpoints?watch=true`;
  const stream = await eventually(
    async () => {
      const opened = await openEventStream(url);
      if (opened.status !== 200) opened.close();
      expect([cluster, opened.status]).toEqual([cluster, 200]);
      return opened;
    },
    { ...PATIENT, intervalMs: 100 },
  );
  await stream.until(({ event }) => event === 'full', PATIENT.timeoutMs);
  return stream;
}

/** Waits until who follows was told of the end of the cluster. */
async function untilGone(stream: EventStream): Promise<void> {
  await stream.until(({ event }) => event === 'gone', PATIENT.timeoutMs);
  await stream.ended;
  stream.close();
}

/** Cuts the watches of all clusters; who follows this one is told of what happened meanwhile. */
async function cutWatches(nth: number, stream: EventStream): Promise<void> {
  const [name, address] = [`cut-${nth}`, `10.2.${nth >> 8}.${nth & 255}`];
  double.cut();
  double.put('endpointslices', webSlice(name, [address]));
  const tells = ({ data }: SeenEvent): boolean => JSON.stringify(data).includes(`"${address}"`);
  await stream.until(tells, PATIENT.timeoutMs);
  double.remove('endpointslices', 'shop', name);
}

async function cycleOnDouble(nth: number): Promise<void> {
  const cluster = nameOf(nth);
  const [first, second] = [`${DOUBLE_TOKEN}-${nth}-a`, `${DOUBLE_TOKEN}-${nth}-b`];
  for (const token of [first, second]) double.users.set(token, { name: 'admin' });
  const watchedBy = (token: string, watches: number): Promise<void> =>
    eventually(
      () => expect([cluster, double.watchesBy(token)]).toEqual([cluster, watches]),
      PATIENT,
    );
  await create(cluster, double.kubeconfig(first));
  await watchedBy(first, WATCHES);
  const stream = await follow(cluster, 'shop/web');
  await put(cluster, double.kubeconfig(second));
  await watchedBy(second, WATCHES);
  await watchedBy(first, 0);
  if (nth % 10 === 5) await cutWatches(nth, stream);
  await remove(cluster);
  await watchedBy(second, 0);
  await untilGone(stream);
  for (const token of [first, second]) double.users.delete(token);
}

/** The same with the API server of this run, which has no look at its watches: the registry tells. */
async function cycleOnReal(nth: number): Promise<void> {
  const cluster = nameOf(nth);
  const registry = createClusterRegistry(redis, fleet.prefix);
  const served = async (): Promise<number> => (await registry.watches()).get(cluster)?.serving ?? 0;
  const kubeconfig = readFileSync(fromRun('kubeconfig'), 'utf8');
  await create(cluster, kubeconfig);
  const first = await eventually(async () => {
    const serving = await served();
    expect([cluster, serving]).not.toEqual([cluster, 0]);
    return serving;
  }, PATIENT);
  const stream = await follow(cluster, `${ns}/web`);
  await put(cluster, `${kubeconfig}\n# another text is another content\n`);
  await eventually(
    async () => expect([cluster, await served()]).not.toEqual([cluster, first]),
    PATIENT,
  );
  await remove(cluster);
  await eventually(async () => expect([cluster, await served()]).toEqual([cluster, 0]), PATIENT);
  await untilGone(stream);
}

/**
 * Cycles `from` to `to`, so many under way at once, one in ten of them with the real API server. Another one
 * in ten cuts all watches of all others.
 */
async function cycle(from: number, to: number): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    while (next < to) {
      const nth = next++;
      await (nth % 10 === 0 ? cycleOnReal(nth) : cycleOnDouble(nth));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

interface Look {
  readonly held: Held;
  readonly descriptors: number;
}

/** Looks once nothing is under way. */
async function lookAt({ process: { pid }, inspector }: Member): Promise<Look> {
  const held = await inspector.held();
  return { held, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

async function keys(): Promise<string[]> {
  const found = await keysOf(redis, `*${fleet.prefix}*`);
  return found.sort();
}

/** The hashes of what is known of all clusters have no field of one that is gone. */
const nothingKnown = (): Promise<void> =>
  eventually(async () => {
    const hashes = [decisionsKey, watchesKey, toldKey].map((keyOf) => keyOf(fleet.prefix));
    const fields = await Promise.all(hashes.map((hash) => redis.hkeys(hash)));
    expect(fields.flat()).toEqual([]);
  });

/** Sooner than idle connections end by themselves, which takes half a minute. */
const nothingOpen = (): Promise<void> =>
  eventually(() => expect([double.openWatches, double.openSockets]).toEqual([0, 0]), {
    timeoutMs: 20_000,
  });

/** What is about a cluster of a cycle. */
const traces = (texts: readonly string[]): string[] =>
  texts.filter((text) => /leak-\d/.test(text)).slice(0, 5);

describe(`after ${CYCLES} lives of a cluster Secret`, () => {
  let members: readonly Member[] = [];
  afterAll(() => members.forEach(({ inspector }) => inspector.close()));

  test(
    'sockets, timers, listeners, heap, Redis keys and watches are what they were (reports 77, 78, 79, 81)',
    async () => {
      members = await Promise.all([startMember('watcher'), startMember('worker'), startLookup()]);
      await cycle(0, WARM_UP);
      await nothingOpen();
      await fleet.untilQuiet();
      const before = await Promise.all(members.map(lookAt));
      await nothingKnown();
      const keysBefore = await keys();
      await cycle(WARM_UP, CYCLES);
      await nothingOpen();
      await fleet.untilQuiet();

      for (const [at, member] of members.entries()) {
        const then = before[at];
        // What ends by a timer of its own is given its time.
        await eventually(async () => {
          const now = await lookAt(member);
          const more = (of: (look: Look) => number): number =>
            of(now) - (then === undefined ? 0 : of(then));
          const { name } = member;
          expect({ name, resources: more(countOf) > 3 ? now.held.resources : 'flat' }).toEqual({
            name,
            resources: 'flat',
          });
          expect({ name, listeners: now.held.listeners }).toEqual({
            name,
            listeners: then?.held.listeners,
          });
          expect(more(({ descriptors }) => descriptors)).toBeLessThanOrEqual(3);
          const grown = more(({ held }) => held.heap);
          expect({ name, grown: grown > NOISE ? grown : 'flat' }).toEqual({ name, grown: 'flat' });
        });
        expect(member.process.stderr()).not.toContain('MaxListenersExceededWarning');
      }
      await nothingKnown();
      await eventually(async () => {
        expect((await keys()).filter((key) => !keysBefore.includes(key))).toEqual([]);
      });
      for (const member of members) expect(traces(await metricsOf(member))).toEqual([]);
    },
    LIMIT_MS,
  );
});

function countOf({ held }: Look): number {
  return Object.values(held.resources).reduce((sum, count) => sum + count, 0);
}

async function metricsOf({ process: tether }: Member): Promise<string[]> {
  const [, url] = await tether.untilLog(/"url":"(http:[^"]+)"/);
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  return text.split('\n');
}
