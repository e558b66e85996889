import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../platform/process/free-port.ts';
import { startPrivateRedis } from '../../platform/redis/private-server.ts';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane, type ControlPlane } from '../controlplane/cluster.ts';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { kubectl } from '../support/kubectl.ts';
import { runTether, spawnTether } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/*
 * What is missing or wrong around a process: options, Redis, the API server, the CRD. Commands say
 * one sentence and end; roles wait for what may still come, say so once, and go on when it came.
 */
const EXAMPLES = join(import.meta.dirname, '../../examples/external-workload');
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'tether-bad-input-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** No line of a stack, whatever else is said. */
function expectNoStack(text: string): void {
  expect(text).not.toMatch(/^ +at |"stack"|node:internal/m);
}

type Ended = Awaited<ReturnType<typeof runTether>>;

/** Runs each command line to its end, all at once, and gives it back beside how it ended. */
function endsOf<T>(
  cases: readonly (readonly [line: string, expected: T])[],
  env: Readonly<Record<string, string>> = {},
): Promise<(readonly [line: string, ended: Ended, expected: T])[]> {
  return Promise.all(
    cases.map(async ([line, expected]) => {
      return [line, await runTether(line.split(' '), { env }), expected] as const;
    }),
  );
}

describe('a wrong option', () => {
  const WRONG: readonly (readonly [line: string, message: RegExp])[] = [
    ['up --http-port x', /^tether: --http-port "x": expected a whole number from 0 to 65535\n$/],
    ['worker --concurrency 0', /^tether: --concurrency "0": expected a whole number from 1 to/],
    ['worker --drain-seconds 5m', /^tether: --drain-seconds "5m": expected seconds from 0 to 600/],
    ['watcher --colour', /^tether: unknown option '--colour'; see tether watcher --help\n$/],
    ['watcher --namespaces Web', /^tether: --namespaces "Web": expected names of namespaces/],
    ['up --manager a/b', /^tether: --manager "a\/b": expected a label value: up to 63/],
    [
      'up --redis-url localhost',
      /^tether: --redis-url \(not shown\): expected a URL such as redis/,
    ],
    ['up --max-endpoints-per-slice 1001', /^tether: --max-endpoints-per-slice "1001": expected a/],
    ['reconcile service web', /^tether: "web" is not a key: write it as NAMESPACE\/NAME, both/],
    ['workload ready Shop/vm', /^tether: "Shop\/vm" is not a key: write it as NAMESPACE\/NAME/],
    ['workload drain a/b --timeout 5m', /^tether: --timeout "5m": expected whole seconds\n$/],
    ['explain a/b -o yaml', /^tether: .*'yaml' is invalid.*; see tether explain --help\n$/],
    ['wroker', /^tether: unknown command 'wroker' \(Did you mean worker\?\); see tether --help\n$/],
  ];

  it('on the command line: one sentence with what is wrong, and exit code 2', async () => {
    for (const [line, ended, message] of await endsOf(WRONG)) {
      expect({ line, code: ended.code, stdout: ended.stdout }).toEqual({
        line,
        code: 2,
        stdout: '',
      });
      expect(ended.stderr).toMatch(message);
      expect(ended.stderr.trimEnd()).not.toContain('\n');
    }
  });

  it('in variables: each is said in one line, before anything is done', async () => {
    const env = { TETHER_CONCURRENCY: 'many', TETHER_LOG_LEVEL: 'loud' };
    const { code, stdout, stderr } = await runTether(['worker'], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.trimEnd().split('\n').sort()).toEqual([
      'tether: TETHER_CONCURRENCY "many": expected a whole number from 1 to 1000',
      'tether: TETHER_LOG_LEVEL "loud": expected one of debug, info, warn, error, silent',
    ]);
  });

  it('a kubeconfig that is missing, is none, or lacks the context', async () => {
    const garbage = join(dir, 'garbage.kubeconfig');
    writeFileSync(garbage, 'apiVersion: v1\nkind: Config\nclusters: 7\n');
    const missing = join(dir, 'missing.kubeconfig');
    const cases = [
      [['--kubeconfig', missing], `tether: the kubeconfig ${missing} does not exist\n`],
      [['--kubeconfig', garbage], /^tether: kubeconfig \S+garbage\.kubeconfig: .*clusters.*\n$/],
      [
        ['--context', 'nope'],
        /^tether: kubeconfig \S+: there is no context "nope" \(contexts: .*\)/,
      ],
    ] as const;
    for (const [flags, message] of cases) {
      const { code, stderr } = await runTether(['explain', 'a/b', ...flags]);
      expect(code).toBe(2);
      if (typeof message === 'string') expect(stderr).toBe(message);
      else expect(stderr).toMatch(message);
      expectNoStack(stderr);
    }
  });
});

describe('no Redis', () => {
  it('is configured: every command says how to name one', async () => {
    const lines = ['watcher', 'worker', 'status', 'resync', 'reconcile service a/b'];
    const cwd = process.cwd();
    process.chdir(dir);
    try {
      const cases = lines.map((line) => [line, 1] as const);
      for (const [line, { code, stderr }] of await endsOf(cases, { TETHER_REDIS_URL: '' })) {
        expect({ line, code }).toEqual({ line, code: 1 });
        expect(stderr).toBe(
          'tether: no Redis is configured: give --redis-url or set TETHER_REDIS_URL, or run this ' +
            'where `tether up` runs (it records the URL of its private Redis in .tether/redis-url)\n',
        );
      }
    } finally {
      process.chdir(cwd);
    }
  });

  it('answers: one sentence says which, within ten seconds, without the password', async () => {
    const port = await freePort();
    const env = { TETHER_REDIS_URL: `redis://:hunter2@127.0.0.1:${port}` };
    const lines = ['up', 'watcher', 'worker', 'status', 'reconcile service a/b --wait'];
    const start = performance.now();
    const ended = await endsOf(
      lines.map((line) => [line, 1] as const),
      env,
    );
    expect(performance.now() - start).toBeLessThan(15_000);
    for (const [line, { code, stdout, stderr }] of ended) {
      expect({ line, code }).toEqual({ line, code: 1 });
      const said = stderr.split('\n').filter((each) => each.startsWith('tether: '));
      expect(said).toHaveLength(1);
      expect(said[0]).toContain(`Redis at 127.0.0.1:${port} does not answer; does it run there`);
      expectNoStack(stdout + stderr);
      expect(stdout + stderr).not.toContain('hunter2');
    }
  });

  it('with the right password: the sentence says so at once', async () => {
    const redis = await startPrivateRedis();
    try {
      const env = { TETHER_REDIS_URL: redis.url.replace(redis.password, 'wrong') };
      const { code, stderr } = await runTether(['status'], { env });
      expect(code).toBe(2);
      expect(stderr).toBe(
        `tether: Redis at 127.0.0.1:${redis.port} refuses the user or the password of the Redis URL\n`,
      );
    } finally {
      await redis.stop();
    }
  });

  it('that is fit: one that evicts keys is refused with what to set', async () => {
    const redis = await startPrivateRedis({ extraArgs: ['--maxmemory-policy', 'allkeys-lru'] });
    try {
      const { code, stderr } = await runTether(['worker'], {
        env: { TETHER_REDIS_URL: redis.url },
      });
      expect(code).toBe(2);
      expect(stderr).toBe(
        `tether: Redis at 127.0.0.1:${redis.port} may throw keys away when its memory is full ` +
          '(maxmemory-policy allkeys-lru), and work with them: set maxmemory-policy noeviction\n',
      );
    } finally {
      await redis.stop();
    }
  });
});

describe('a port in use', () => {
  let taken: Server;
  let port: number;
  beforeAll(async () => {
    taken = createServer();
    await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve));
    port = (taken.address() as AddressInfo).port;
  });
  afterAll(() => new Promise((resolve) => void taken.close(resolve)));

  it('ends the process with one line that names the option, and exit code 1', async () => {
    const address = ['--http-host', '127.0.0.1', '--redis-prefix', `port-${process.pid}`];
    const cases = ['up', 'watcher', 'worker', 'lookup'].map((role) => {
      return [[role, '--http-port', String(port), ...address].join(' '), 'http-port'] as const;
    });
    const lookup = `lookup --lookup-addr 127.0.0.1:${port} ${address.join(' ')}`;
    for (const [line, ended, option] of await endsOf([...cases, [lookup, 'lookup-addr']])) {
      const said = ended.stderr.split('\n').filter((each) => each.startsWith('tether: '));
      expect({ line, code: ended.code, said }).toEqual({
        line,
        code: 1,
        said: [
          expect.stringContaining(
            `tether: --${option}: port ${port} of 127.0.0.1 is in use; choose another one, or 0 for any that is free`,
          ),
        ],
      });
      expectNoStack(ended.stdout + ended.stderr);
    }
  });
});

describe('no API server', () => {
  it('for a command: it says which, and what to look at', async () => {
    const { path, server } = await deadKubeconfig();
    const lines = ['explain a/b', 'install', 'workload ready a/b', 'resync'];
    const cases = lines.map((line) => [line, 1] as const);
    for (const [line, { code, stderr }] of await endsOf(cases, { KUBECONFIG: path })) {
      expect({ line, code }).toEqual({ line, code: 1 });
      expect(stderr.trimEnd()).not.toContain('\n');
      expect(stderr).toContain(
        `: ${server}: the connection was refused; does the API server run, and is the port right?`,
      );
    }
  });

  /** The kubeconfig of this run with a port that nobody listens on. */
  async function deadKubeconfig(): Promise<{ readonly path: string; readonly server: string }> {
    const path = join(dir, 'dead.kubeconfig');
    const server = `127.0.0.1:${await freePort()}`;
    const text = readFileSync(fromRun('kubeconfig'), 'utf8');
    writeFileSync(path, text.replace(/127\.0\.0\.1:\d+/, server), { mode: 0o600 });
    return { path, server };
  }
});

describe('an API server that comes late, and without the CRD', () => {
  let plane: ControlPlane | undefined;
  beforeAll(async () => {
    const binaries = await controlPlaneBinaries();
    plane = await startControlPlane({ binaries, dir: join(dir, 'cluster') });
  });
  afterAll(() => plane?.stop());

  it('is waited for, then the CRD is, and then everything works', async () => {
    const [cluster] = plane?.clusters ?? [];
    if (cluster === undefined) throw new Error('there is no cluster');
    const { kubeconfig } = cluster;
    await cluster.killServer();
    const env = { KUBECONFIG: kubeconfig };
    const prefix = ['--redis-prefix', `late-${process.pid}`];
    const watcher = spawnTether(['watcher', ...prefix], { env });
    const worker = spawnTether(['worker', ...prefix], { env });
    for (const role of [watcher, worker]) {
      const [line] = await role.untilLog(/^.*"waiting for the API server".*$/m);
      expect(line).toContain('"level":"warn"');
      expect(line).toContain('the connection was refused; does the API server run');
    }

    await cluster.restartServer();
    const [line] = await watcher.untilLog(/^.*"the server does not serve this kind yet".*$/m);
    expect(line).toContain('"resource":"externalworkloads"');
    expect(line).toContain('is its CRD installed?');
    await worker.untilLog(/"ready"/);
    expect(watcher.stdout()).not.toContain('"ready"');

    const told = await runTether(['workload', 'ready', 'default/test'], { env });
    expect(told).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'tether: the cluster does not know ExternalWorkload (workload.linkerd.io/v1beta1): run `tether install`\n',
    });

    expect((await runTether(['install'], { env })).stdout).toMatch(/: created, and served\n$/);
    await kubectl(['apply', '-f', EXAMPLES], '', kubeconfig);
    await watcher.untilLog(/"ready"/);
    expect((await runTether(['workload', 'ready', 'default/test'], { env })).code).toBe(0);
    await eventually(async () => {
      const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
      const selector = '?labelSelector=kubernetes.io/service-name%3Dnginx-svc';
      const list = await apiOk('GET', path + selector, undefined, { kubeconfig });
      expect(JSON.stringify(list)).toMatch(/192\.0\.2\.0.*"ready":true/);
    });
    for (const { stdout, stderr } of [watcher, worker]) expectNoStack(stdout() + stderr());
  });
});
