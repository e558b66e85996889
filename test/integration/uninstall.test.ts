import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RedisClient } from '../../platform/redis/client.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { apiOk } from '../support/api.ts';
import { startApiInterceptor, type ApiInterceptor } from '../support/api-interceptor.ts';
import { eventually } from '../support/eventually.ts';
import { refuse } from '../support/misbehaviours.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  exists,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { keysOf, openRedis } from '../support/redis.ts';

const CRD =
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/externalworkloads.workload.linkerd.io';

let redis: RedisClient;
let between: ApiInterceptor;
let one: string;
let other: string;
/** Prefix and manager of a test's own: what others left behind is not to be removed by it. */
let install: string;
let tests = 0;
beforeAll(async () => {
  redis = openRedis();
  between = await startApiInterceptor();
});
afterAll(async () => {
  redis.disconnect();
  await between.close();
});
beforeEach(async () => {
  tests += 1;
  install = `uninstall-${process.pid}-${tests}`;
  between.rule = () => undefined;
  [one, other] = [await freshNamespace('uninstall'), await freshNamespace('uninstall')];
});

const own = () => ({ env: { TETHER_MANAGER: install, TETHER_REDIS_PREFIX: install } });

function start(...namespaces: readonly string[]): TetherProcess {
  return spawnTether(['up', '--namespaces', namespaces.join(',')], own());
}

const uninstall = (...args: readonly string[]) => runTether(['uninstall', ...args], own());

async function served(namespace: string): Promise<void> {
  await createService(namespace, 'web');
  await createWorkload(namespace, 'vm', 'web');
}

/** Both namespaces served, and then nobody there any more. */
async function servedAndStopped(): Promise<void> {
  await Promise.all([one, other].map(served));
  const tether = start(one, other);
  await Promise.all([one, other].map(slicesAppear));
  await tether.stop();
}

const ours = (namespace: string) => slicesOf(namespace, 'web', install);
const slicesAppear = (namespace: string): Promise<void> =>
  eventually(async () => expect(await ours(namespace)).toHaveLength(1));
const keys = async (): Promise<number> => {
  const found = await Promise.all([keysOf(redis, `{${install}}*`), keysOf(redis, `{${install}:*`)]);
  return found.flat().length;
};

describe('tether uninstall', () => {
  it('says what there is and removes nothing; with --purge it removes all that is ours, and no more', async () => {
    await servedAndStopped();
    await apiOk('POST', slicesPath(one), {
      metadata: {
        name: 'of-another',
        labels: { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: 'another' },
      },
      addressType: 'IPv4',
      endpoints: [],
    });
    const neighbour = `{${install}-2}:of-another-install`;
    await redis.set(neighbour, '1');

    const dry = await uninstall();
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toContain(`EndpointSlices of ${install}: 2\n`);
    expect(dry.stdout).toMatch(new RegExp(`^${one} +1$`, 'm'));
    expect(dry.stdout).toMatch(/^Nothing was removed.*: tether uninstall --purge$/m);
    expect(await ours(one)).toHaveLength(1);
    expect(await keys()).toBeGreaterThan(0);

    const kubeconfig = ['--kubeconfig', between.kubeconfig];
    const { requests } = between;
    const asked = requests.length;
    const { code, stdout } = await uninstall('--purge', ...kubeconfig);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^EndpointSlices of uninstall-[-\d]+: 2 removed in 2 namespaces\nKeys in Redis .*: \d+ removed\n$/,
    );
    expect([await ours(one), await ours(other), await keys()]).toEqual([[], [], 0]);
    // These rights are all that it needs.
    const verbs = new Set(
      requests.slice(asked).map(({ method, path }) => `${method} ${path.split('/')[2]}`),
    );
    expect(verbs).toEqual(new Set(['GET discovery.k8s.io', 'DELETE discovery.k8s.io']));

    expect(await exists(slicesPath(one, 'of-another'))).toBe(true);
    expect(await exists(workloadPath(one, 'vm'))).toBe(true);
    expect(await exists(CRD)).toBe(true);
    expect(await redis.del(neighbour)).toBe(1);
    // Once more: nothing is left, and that is fine.
    const again = await uninstall('--purge');
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/: 0 removed in 0 namespaces\n.*: 0 removed\n$/);
  });

  it('refuses while watchers and workers run, but for a namespace that they do not serve', async () => {
    await servedAndStopped();
    const tether = start(one);
    await tether.untilLog(/"ready"/);
    const all = await uninstall('--purge');
    expect(all.code).toBe(1);
    expect(all.stderr).toMatch(/^tether: running: 1 watcher and 1 worker \(.*\/\d+\); .*\n$/);
    const served = await uninstall('--purge', '--namespace', one);
    expect(served.code).toBe(1);
    expect(served.stderr).toMatch(/^tether: namespace .* is served by 1 watcher .*\n$/);
    expect([await ours(one), await ours(other)]).toMatchObject([[{}], [{}]]);

    const { code, stdout } = await uninstall('--purge', '--namespace', other);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(': 1 removed'),
    });
    expect([await ours(one), await ours(other)]).toMatchObject([[{}], []]);
    expect(await keysOf(redis, `{${install}:${other}}*`)).toEqual([]);
    expect(await keysOf(redis, `{${install}:${one}}*`)).not.toEqual([]);
    // Nothing that still runs has been hurt.
    await createWorkload(one, 'vm-2', 'web', { ips: ['192.0.2.11'] });
    await eventually(async () => expect((await ours(one))[0]?.endpoints).toHaveLength(2));
  });

  it('of a namespace takes its keys out of the queue, so that no worker fills it again', async () => {
    await servedAndStopped();
    // What is asked for is served by any worker, and a missing right makes it back off for half a minute.
    between.rule = ({ path }) =>
      path.includes(other) ? refuse(403, { reason: 'Forbidden', message: 'no' }) : undefined;
    const args = ['up', '--namespaces', one, '--kubeconfig', between.kubeconfig];
    const tether = spawnTether(args, own());
    await tether.untilLog(/"ready"/);
    expect((await runTether(['reconcile', 'service', `${other}/web`], own())).code).toBe(0);
    const backingOff = (): Promise<number> => redis.zcard(`{${install}}:service:delayed`);
    await eventually(async () => expect(await backingOff()).toBe(1));

    const { code, stdout } = await uninstall('--purge', '--namespace', other);
    expect(code).toBe(0);
    expect(stdout).toContain(`Jobs of namespace ${other}: 1 removed\n`);
    expect(await backingOff()).toBe(0);
    between.rule = () => undefined;
    const done = await runTether(['reconcile', 'service', `${one}/web`, '--wait'], own());
    expect(done.code).toBe(0);
    expect([await ours(one), await ours(other)]).toMatchObject([[{}], []]);
  });

  it('goes on where one slice cannot be removed, says so, and fails', async () => {
    await servedAndStopped();
    between.rule = ({ method, path }) =>
      method === 'DELETE' && path.includes(other)
        ? refuse(403, { reason: 'Forbidden', message: 'no' })
        : undefined;
    const { code, stdout, stderr } = await uninstall('--purge', '--kubeconfig', between.kubeconfig);
    expect(code).toBe(1);
    expect(stdout).toContain(': 1 removed in 1 namespace\n');
    expect(stderr).toMatch(
      new RegExp(`^tether: delete endpointslice ${other}/web-ew-\\w+: 403 Forbidden: no\\n$`),
    );
    expect([await ours(one), await ours(other)]).toMatchObject([[], [{}]]);
  });

  it('asks for --force where Redis cannot say who runs, and then leaves the cluster clean', async () => {
    await servedAndStopped();
    const gone = ['--redis-url', 'redis://:s3cret@127.0.0.1:1'];
    const refused = await uninstall('--purge', ...gone);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /^tether: whether .* is not known: .*127\.0\.0\.1:1.*--force.*\n$/,
    );
    const forced = await uninstall('--purge', '--force', ...gone);
    expect(forced.code).toBe(1);
    expect(forced.stderr).toMatch(/^tether: keys in Redis were not removed: .*\n$/);
    expect(refused.stderr + forced.stderr).not.toContain('s3cret');
    expect([await ours(one), await ours(other)]).toEqual([[], []]);
  });

  it('refuses what is no namespace: one line, exit code 2', async () => {
    const { code, stderr } = await uninstall('--purge', '--namespace', 'a/b');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'tether: --namespace "a/b": expected the name of a namespace\n',
    });
  });
});
