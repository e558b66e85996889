import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RedisClient } from '../../platform/redis/client.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, setReady, slicesOf } from '../support/objects.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { keysOf, openRedis } from '../support/redis.ts';

/*
 * A namespace that is served no more, since --namespaces leaves it out: what Tether wrote there stays, and
 * is told of until somebody removes it.
 */
const PREFIX = `left-${process.pid}`;
const MANAGER = `left-${process.pid}`;
const ENV = { TETHER_MANAGER: MANAGER, TETHER_REDIS_PREFIX: PREFIX };

let redis: RedisClient;
let inside: string;
let outside: string;
let tether: TetherProcess;
const ours = (namespace: string) => slicesOf(namespace, 'web', MANAGER);

function start(namespaces: readonly string[], command = 'up'): TetherProcess {
  const line = [command, '--namespaces', namespaces.join(','), '--resync-seconds', '2'];
  return spawnTether(line, { env: ENV, lifetime: 'file' });
}

beforeAll(async () => {
  redis = openRedis();
  [inside, outside] = [await freshNamespace('inside'), await freshNamespace('left')];
  for (const namespace of [inside, outside]) {
    await createService(namespace, 'web');
    await createWorkload(namespace, 'vm', 'web');
  }
  const before = start([inside, outside]);
  await eventually(async () => {
    expect([await ours(inside), await ours(outside)]).toMatchObject([[{}], [{}]]);
  });
  await before.stop();
  tether = start([inside]);
  await tether.untilLog(/"ready"/);
});
afterAll(() => redis.disconnect());

async function metric(): Promise<string | undefined> {
  const [, url] = await tether.untilLog(/"url":"(http:[^"]+)"/);
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  return /^tether_left_behind_slices (\d+)$/m.exec(text)?.[1];
}

const status = () => runTether(['status'], { env: ENV });

describe('slices left in a namespace that is not served any more', () => {
  it('are told of once in the log, counted, and listed by tether status with what to do', async () => {
    await tether.untilLog(
      new RegExp(`"namespaces":"${outside}: 1".*uninstall --purge --namespace`),
    );
    await eventually(async () => expect(await metric()).toBe('1'));
    const { stdout } = await status();
    expect(stdout).toMatch(/^NOT SERVED +SLICES OF OURS$/m);
    expect(stdout).toMatch(new RegExp(`^${outside} +1$`, 'm'));
    expect(stdout).toContain('tether uninstall --purge --namespace NAME');
    const { stdout: json } = await runTether(['status', '-o', 'json'], { env: ENV });
    expect(JSON.parse(json)).toMatchObject({ leftBehind: [{ namespace: outside, slices: 1 }] });
    // At each resync it is looked again, and the same is not said again.
    const resyncs = (): number => tether.stdout().split('everything listed and enqueued').length;
    const before = resyncs();
    await eventually(() => expect(resyncs()).toBeGreaterThan(before + 1));
    expect(tether.stdout().split('are not served').length - 1).toBe(1);
  });

  it('stay as they are, and what is known of their Services does not count as deleted (A7)', async () => {
    const [before] = await ours(outside);
    await setReady(outside, 'vm', false);
    await setReady(inside, 'vm', false);
    await eventually(async () => {
      expect((await ours(inside))[0]?.endpoints?.[0]?.conditions?.ready).toBe(false);
    });
    expect(await ours(outside)).toEqual([before]);
    expect(await keysOf(redis, `{${PREFIX}:${outside}}:*:t:*`)).toEqual([]);
  });

  it('are nobody’s concern while another watcher of the install serves their namespace', async () => {
    const other = start([outside], 'watcher');
    await other.untilLog(/"ready"/);
    await eventually(async () => expect(await metric()).toBe('0'));
    expect((await status()).stdout).not.toContain('NOT SERVED');
    await other.stop();
    await eventually(async () => expect(await metric()).toBe('1'));
  });

  it('are gone after tether uninstall --purge --namespace, and told of no more', async () => {
    const line = ['uninstall', '--purge', '--namespace', outside];
    expect(await runTether(line, { env: ENV })).toMatchObject({ code: 0, stderr: '' });
    expect([await ours(inside), await ours(outside)]).toMatchObject([[{}], []]);
    expect((await status()).stdout).not.toContain('NOT SERVED');
    await eventually(async () => expect(await metric()).toBe('0'));
  });
});
