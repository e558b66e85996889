import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { makeChurn, say, type Churn } from '../support/churn.ts';
import { openFleet, startPair, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';

/** A Redis of the file's own, with an append-only file, and two of each role on it. */
let dir: string;
let server: PrivateRedis;
let namespace: string;
let fleet: Fleet;
let churn: Churn;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tether-chaos-'));
  server = await startPrivateRedis({ dir, appendOnly: true });
  namespace = await freshNamespace('chaos');
  fleet = openFleet(namespace, { redisUrl: server.url });
  await startPair(fleet);
  churn = await makeChurn(namespace, 4);
});
afterAll(async () => {
  await churn.end();
  await fleet.killAll();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});
afterEach(() => churn.check());

/** Starts it again under the same address; `appendOnly: false` brings it back empty. */
async function startAgain(appendOnly = true): Promise<void> {
  const { port, password } = server;
  server = await startPrivateRedis({ ...(appendOnly ? { dir, appendOnly } : {}), port, password });
}

/** Sends one command, as an operator does. */
async function command(name: string, ...args: string[]): Promise<void> {
  const redis = new Redis(server.url);
  await redis.call(name, ...args);
  await redis.quit();
}

describe('Redis under churn', () => {
  test('loses all its data: the view is filled anew, and no endpoint is missed meanwhile (view 4)', async () => {
    await churn.change(10);
    await command('FLUSHALL');
    await churn.change(10);
    const gap = await churn.converged();
    say(`FLUSHALL: slices right ${gap} ms after the last change`);
    await fleet.untilQuiet();
  });

  test('is killed and comes back with its append-only file: all is delivered (queue 5)', async () => {
    churn.start();
    await server.kill();
    await startAgain();
    await churn.stop();
    await churn.change(10);
    const gap = await churn.converged();
    say(`Redis killed, back with its file: slices right ${gap} ms after the last change`);
    await fleet.untilQuiet();
  });

  test('is away while things change: watchers deliver when it is back (queue 5)', async () => {
    await server.stop();
    await churn.change(40);
    await startAgain();
    const gap = await churn.converged();
    say(`Redis away: slices right ${gap} ms after it was back`);
    await fleet.untilQuiet();
  });

  test('is frozen with its connections open while things change (queue 5)', async () => {
    process.kill(server.pid, 'SIGSTOP');
    await churn.change(60);
    process.kill(server.pid, 'SIGCONT');
    const gap = await churn.converged();
    say(`Redis frozen: slices right ${gap} ms after it went on`);
    await fleet.untilQuiet();
  });

  test('is full, so that it refuses every write, while things change', async () => {
    await command('CONFIG', 'SET', 'maxmemory', '1');
    await churn.change(20);
    await command('CONFIG', 'SET', 'maxmemory', '0');
    const gap = await churn.converged();
    say(`Redis full: slices right ${gap} ms after it took writes again`);
    await fleet.untilQuiet();
  });

  test('becomes a replica and a primary again, as in a failover, while things change', async () => {
    // Of nobody: it keeps its data and refuses writes.
    await command('REPLICAOF', '127.0.0.1', '1');
    await churn.change(20);
    await command('REPLICAOF', 'NO', 'ONE');
    const gap = await churn.converged();
    say(`Redis read-only: slices right ${gap} ms after it took writes again`);
    await fleet.untilQuiet();
  });

  test('comes back empty under the same address: the view is filled anew (view 4)', async () => {
    await churn.change(10);
    await server.kill();
    await churn.change(10);
    await startAgain(false);
    const gap = await churn.converged();
    say(`Redis back empty: slices right ${gap} ms after it was back`);
    await fleet.untilQuiet();
    // Nobody died of it.
    expect([fleet.watchers.length, fleet.workers.length]).toEqual([2, 2]);
  });
});
