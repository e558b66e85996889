import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { makeChurn, say, type Churn } from '../support/churn.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, startPair, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { startRedisCluster, type RedisCluster } from './servers/cluster.ts';
import { startSentinelSetup, type SentinelSetup } from './servers/sentinel.ts';
import type { RedisServer } from './servers/server.ts';

/*
 * A primary dies while workloads change. Each time: what changed meanwhile is in the slices in the end, no
 * endpoint that stayed was missed by a reader of every state, and nothing is left in the queue. How late the
 * changes were is printed.
 */

const PASSWORD = 'not-secret';
const SERVICES = 6;
/** Of what each process said, where a test fails. */
const LINES = 60;

jest.setTimeout(180_000);

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'tether-failover-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Two of each role on one Redis, and workloads that change. */
interface Stage {
  readonly namespace: string;
  readonly fleet: Fleet;
  readonly churn: Churn;
  end(): Promise<void>;
}

async function openStage(redisUrl: string): Promise<Stage> {
  const namespace = await freshNamespace('failover');
  const fleet = openFleet(namespace, { redisUrl });
  await startPair(fleet);
  const churn = await makeChurn(namespace, SERVICES);
  return {
    namespace,
    fleet,
    churn,
    end: async () => {
      await churn.end();
      await fleet.killAll();
    },
  };
}

/** Lets a server end under churn, and goes on until another has been in its place for a while. */
async function survive(
  { fleet, churn }: Stage,
  what: string,
  end: () => Promise<unknown>,
  replaced: () => Promise<unknown>,
): Promise<void> {
  churn.start();
  await churn.change(10);
  const from = performance.now();
  await end();
  await replaced();
  const replacedMs = Math.round(performance.now() - from);
  // What changed until now, and what was enqueued just before the end and is lost: nothing makes those
  // keys dirty again but the rebuild.
  await churn.stop();
  await churn.converged().catch((error: unknown) => {
    for (const { pid, stdout } of [...fleet.watchers, ...fleet.workers]) {
      say(`process ${pid} said last:\n${stdout().split('\n').slice(-LINES).join('\n')}`);
    }
    throw error;
  });
  const rightMs = Math.round(performance.now() - from);
  say(`${what}: replaced after ${replacedMs} ms, slices right ${rightMs} ms after it ended`);
  await churn.change(20);
  await churn.check();
  await churn.converged();
  await fleet.untilQuiet();
  expect([fleet.watchers.length, fleet.workers.length]).toEqual([2, 2]);
}

describe('a Redis Cluster under churn', () => {
  let cluster: RedisCluster;
  let stage: Stage;
  beforeAll(async () => {
    cluster = await startRedisCluster({ dir, password: PASSWORD });
    stage = await openStage(cluster.url);
  });
  afterAll(async () => {
    await stage.end();
    await cluster.stop();
  });

  const replace = async (what: string, key: string): Promise<void> => {
    const old = await cluster.masterOf(key);
    const replaced = async (): Promise<void> => {
      await cluster.untilOk();
      expect(await cluster.masterOf(key)).not.toBe(old);
    };
    await survive(
      stage,
      what,
      () => old.kill(),
      () => eventually(replaced),
    );
    await old.restart();
    await cluster.untilOk();
  };

  test('loses the master of the queue', async () => {
    await replace('Cluster, master of the queue killed', `{${stage.fleet.prefix}}:service:wait`);
  });

  test('loses the master of the view', async () => {
    const key = `{${stage.fleet.prefix}:${stage.namespace}}:lock:x`;
    await replace('Cluster, master of the view killed', key);
  });

  test('has a master that freezes with its connections open', async () => {
    const key = `{${stage.fleet.prefix}}:service:wait`;
    const old = await cluster.masterOf(key);
    const replaced = async (): Promise<void> => {
      expect(await cluster.masterOf(key)).not.toBe(old);
    };
    const freeze = (): Promise<void> => Promise.resolve(old.freeze());
    await survive(stage, 'Cluster, master of the queue frozen', freeze, () => eventually(replaced));
    old.thaw();
    await cluster.untilOk();
  });
});

describe('Redis behind Sentinels under churn', () => {
  let setup: SentinelSetup;
  let stage: Stage;
  beforeAll(async () => {
    setup = await startSentinelSetup({ dir, password: PASSWORD });
    stage = await openStage(setup.url);
  });
  afterAll(async () => {
    await stage.end();
    await setup.stop();
  });

  test.each<[string, (old: RedisServer) => Promise<unknown>, (old: RedisServer) => unknown]>([
    ['is killed', (old) => old.kill(), (old) => old.restart()],
    ['is frozen with its connections open', async (old) => old.freeze(), (old) => old.thaw()],
  ])('has a primary that %s', async (what, end, undo) => {
    const old = await setup.primary();
    const replaced = (): Promise<void> => setup.untilReplaced(old);
    await survive(stage, `Sentinel, the primary ${what}`, () => end(old), replaced);
    await undo(old);
  });
});
