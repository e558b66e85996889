import { beforeAll, expect, test } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { runTether, spawnTether } from '../support/processes.ts';
import { openRedis } from '../support/redis.ts';

/** Another install on the same Redis, so that no other test shows up in its status. */
const PREFIX = `status-${process.pid}`;

let namespace = '';
beforeAll(async () => {
  namespace = await freshNamespace('cli-status');
  const redis = openRedis();
  try {
    const [seconds] = await redis.time();
    const beat = { host: 'box', pid: 7, states: { service: 'watching' } };
    const now = Number(seconds) * 1000;
    // Ahead, so that none of them falls silent however long the tests take.
    const at = now + 600_000;
    const watchers = `{${PREFIX}}:watchers`;
    await redis.hset(watchers, 'alive', JSON.stringify({ ...beat, id: 'alive', at }));
    await redis.hset(watchers, 'dead', JSON.stringify({ ...beat, id: 'dead', at: now - 20_000 }));
    const newer = { ...beat, version: '9.8.7', at };
    await redis.hset(watchers, 'newer', JSON.stringify({ ...newer, id: 'newer' }));
    for (const id of ['a', 'b']) {
      await redis.hset(`{${PREFIX}}:workers`, id, JSON.stringify({ ...newer, id }));
    }
    const old = { ...beat, id: 'old', at };
    await redis.hset(`{${PREFIX}}:workers`, 'old', JSON.stringify(old));
    await redis.sadd(`{${PREFIX}}:stuck`, 'ns/web');
    await redis.hset(`{${PREFIX}:ns}:failures`, 'web', 17);
  } finally {
    redis.disconnect();
  }
  await apiOk('POST', `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    metadata: {
      name: 'web-1',
      labels: {
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'somebody',
      },
    },
    addressType: 'IPv4',
    endpoints: [],
  });
});

const status = (...args: string[]) => runTether(['status', '--redis-prefix', PREFIX, ...args]);

test('queues, watchers alive, stuck keys, and who else writes', async () => {
  const { code, stdout, stderr } = await status();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^service +0 +0 +0 +- +0$/m);
  expect(stdout).toMatch(/^alive +box +7 +- +service: watching$/m);
  expect(stdout).not.toMatch(/\bdead\b/);
  expect(stdout).toMatch(/^ns\/web +17$/m);
  expect(stdout).toMatch(new RegExp(`^${namespace}/web +somebody +1 slice$`, 'm'));
});

test('of which release each watcher is, and how many workers of each', async () => {
  const { stdout } = await status();
  expect(stdout).toMatch(/^newer +box +7 +9\.8\.7 +service: watching$/m);
  expect(stdout).toMatch(/^WORKERS +RELEASE\n1 +-\n2 +9\.8\.7$/m);
});

test('that no worker is alive', async () => {
  const { stdout } = await runTether(['status', '--redis-prefix', `${PREFIX}-nobody`]);
  expect(stdout).toMatch(/^No worker is alive/m);
});

test('the same as JSON', async () => {
  expect(JSON.parse((await status('-o', 'json')).stdout)).toMatchObject({
    queues: { service: { waiting: 0 }, cluster: { waiting: 0 } },
    stuck: [{ key: 'ns/web', failures: 17 }],
    watchers: [{ id: 'alive' }, { id: 'newer', version: '9.8.7' }],
    workers: [{ id: 'a', version: '9.8.7' }, { id: 'b' }, { id: 'old' }],
    refused: [],
    otherManagersError: null,
    otherManagers: expect.arrayContaining([
      { service: `${namespace}/web`, manager: 'somebody', slices: 1 },
    ]),
  });
});

test('without an API server the rest is shown all the same', async () => {
  const { code, stdout } = await status('--kubeconfig', '/nonexistent/kubeconfig');
  expect(code).toBe(0);
  expect(stdout).toMatch(/is not known: the kubeconfig .* does not exist/);
});

test('without a Redis: one sentence, exit code 1', async () => {
  const { code, stderr } = await runTether(['status'], { env: { TETHER_REDIS_URL: '' } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^tether: no Redis is configured: .*\n$/);
});

test('a Redis that does not answer: one line that names it, without its password', async () => {
  const url = 'redis://:s3cret@127.0.0.1:1';
  const { code, stderr } = await runTether(['status', '--redis-url', url]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^tether: .*127\.0\.0\.1:1.*\n$/);
  expect(stderr).not.toContain('s3cret');
});

test('each process tells its own release', async () => {
  const own = ['--redis-prefix', `${PREFIX}-own`];
  const up = spawnTether(['up', '--namespaces', namespace, ...own]);
  const { stdout: printed } = await runTether(['--version']);
  const version = printed.trim();
  await eventually(async () => {
    const { stdout } = await runTether(['status', '-o', 'json', ...own]);
    const alive = { pid: up.pid, version };
    expect(JSON.parse(stdout)).toMatchObject({ watchers: [alive], workers: [alive] });
  });
  await up.stop();
});
