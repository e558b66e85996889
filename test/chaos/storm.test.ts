import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { Random } from '../parity/random.ts';
import { chosenSeed, makeChurn, say } from '../support/churn.ts';
import { openFleet, startPair, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { startApiProxy, type ApiProxy } from '../support/proxy.ts';

let dir: string;
let server: PrivateRedis;
let namespace: string;
let fleet: Fleet;
let api: ApiProxy;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tether-storm-'));
  server = await startPrivateRedis({ dir, appendOnly: true });
  namespace = await freshNamespace('storm');
  fleet = openFleet(namespace, { redisUrl: server.url });
  api = await startApiProxy();
  await startPair(fleet, { kubeconfig: api.kubeconfig });
});
afterAll(async () => {
  for (const member of [...fleet.workers, ...fleet.watchers]) await fleet.kill(member);
  await api.close();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Each does something bad, and gives what ends it. */
const FAULTS: Readonly<Record<string, (random: Random) => Promise<() => Promise<unknown>>>> = {
  'a worker is killed': async (random) => {
    await fleet.kill(random.pick(fleet.workers));
    return () => fleet.start('worker', { kubeconfig: api.kubeconfig });
  },
  'a watcher is killed': async (random) => {
    await fleet.kill(random.pick(fleet.watchers));
    return () => fleet.start('watcher', { kubeconfig: api.kubeconfig });
  },
  'a process is paused': async (random) => {
    const member = random.pick([...fleet.workers, ...fleet.watchers]);
    member.freeze();
    return async () => member.thaw();
  },
  'the API server is out of reach': async () => {
    api.proxy.cut();
    return async () => api.proxy.restore();
  },
  'the API server does not answer': async () => {
    api.proxy.freeze();
    return async () => api.proxy.restore();
  },
  'the API server is slow': async (random) => {
    api.proxy.slow(random.int(50, 400));
    return async () => api.proxy.restore();
  },
  'Redis loses its data': async () => {
    const redis = new Redis(server.url);
    await redis.flushall();
    await redis.quit();
    return () => Promise.resolve();
  },
  'Redis is killed': async () => {
    const { port, password } = server;
    await server.kill();
    return async () => {
      server = await startPrivateRedis({ dir, appendOnly: true, port, password });
    };
  },
  'Redis is frozen': async () => {
    process.kill(server.pid, 'SIGSTOP');
    return async () => process.kill(server.pid, 'SIGCONT');
  },
};

describe('one fault after another, at random, under churn', () => {
  test('in the end every slice is right, and no endpoint was ever missed', async () => {
    const churn = await makeChurn(namespace, 4);
    const random = new Random(chosenSeed() + 1);
    try {
      for (let fault = 0; fault < 5; fault += 1) {
        const name = random.pick(Object.keys(FAULTS));
        say(`  ${name}`);
        const mend = await FAULTS[name]?.(random);
        try {
          await churn.change(random.int(2, 40));
        } finally {
          await mend?.();
        }
        await churn.change(random.int(0, 5));
      }
      const gap = await churn.converged(60_000);
      say(`storm: slices right ${gap} ms after the last fault was mended`);
      await fleet.untilQuiet(60_000);
      await churn.check();
    } finally {
      await churn.end();
    }
  }, 180_000);
});
