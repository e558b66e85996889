import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { clusterOf, type Cluster } from './cluster.ts';
import { execute, must } from './execute.ts';
import { forward } from './forward.ts';
import { baseImage } from './images.ts';
import { IMAGE, inspect, Project, ROOT, untilHealthy } from './project.ts';

const BUILD_TIMEOUT_MS = 900_000;
const MEGABYTE = 1_000_000;
/** What node:24-bookworm-slim leaves of 300 MB: a stand-in for it may be smaller. */
const OURS_AT_MOST = 60 * MEGABYTE;
/** It takes 12 s, and took 26 s at a load of 15 on two cores: a busy machine is held to it, too. */
const FIRST_SLICE_AT_MOST_MS = 60_000;
/** What is built is told this as its commit. */
const REVISION = 'of-the-tests';
/** The addresses of examples/external-workload. */
const SAMPLES = ['192.0.2.0', '192.0.2.1'];

const project = new Project('docker-compose.yml');
const folder = mkdtempSync(join(tmpdir(), 'tether-compose-'));
let cluster: Cluster;
let firstSliceMs: number;

/** A figure for whoever runs this. */
function report(line: string): void {
  process.stderr.write(`test:compose: ${line}\n`);
}

/** Brings all up, and waits for the slices of the samples. */
async function up(): Promise<void> {
  await project.up();
  cluster = await clusterOf(project, folder);
  await cluster.untilSlices('nginx-svc', SAMPLES);
}

beforeAll(async () => {
  const start = performance.now();
  await project.run(['build', '--build-arg', `REVISION=${REVISION}`, 'worker']);
  report(`the image was built in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  const upAt = Date.now();
  await up();
  firstSliceMs = (await cluster.firstSliceAt('nginx-svc')) - upAt;
  report(`from up to the first slice, images present: ${(firstSliceMs / 1000).toFixed(1)} s`);
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  await project.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe('the image', () => {
  it('has at most 300 MB', async () => {
    const size = Number(await inspect(IMAGE, '{{.Size}}'));
    const ours = size - Number(await inspect(baseImage(), '{{.Size}}'));
    const [whole, part] = [size, ours].map((bytes) => (bytes / MEGABYTE).toFixed(0));
    report(`the image has ${whole} MB, of which ${part} MB are on top of ${baseImage()}`);

    expect(size).toBeLessThanOrEqual(300 * MEGABYTE);
    expect(ours).toBeLessThanOrEqual(OURS_AT_MOST);
  });

  it('prints the help when it is run without a command', async () => {
    const help = await must('docker', ['run', '--rm', '--network', 'none', IMAGE]);

    expect(help).toContain('Usage: tether');
    expect(help).toContain('worker');
  });

  it('tells what it is: name, licence and version of the package, and the commit', async () => {
    const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const labels = JSON.parse(await inspect(IMAGE, '{{json .Config.Labels}}'));

    expect(labels).toMatchObject({
      'org.opencontainers.image.title': 'Tether',
      'org.opencontainers.image.licenses': license,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': REVISION,
    });
  });

  it('runs as a user without rights, on a root file system that cannot be written', async () => {
    const [id = ''] = await project.running('worker');
    const write = await execute('docker', ['exec', id, 'touch', '/app/new']);

    expect((await must('docker', ['exec', id, 'id', '-u'])).trim()).toBe('65532');
    expect(write.code).not.toBe(0);
    expect(write.stderr).toContain('Read-only file system');
    expect(await inspect(IMAGE, '{{.Config.User}}')).toBe('65532:65532');
  });

  it('has no shell between Docker and Node: SIGTERM ends a role in order', async () => {
    const [id = ''] = await project.running('watcher');
    await must('docker', ['stop', '--time', '60', id]);

    expect(await inspect(id, '{{.State.ExitCode}}')).toBe('0');
    await must('docker', ['start', id]);
  });

  it('finds every role healthy', async () => {
    const roles = await Promise.all(
      ['watcher', 'worker', 'lookup'].map((role) => project.running(role)),
    );

    expect(roles.map((ids) => ids.length)).toEqual([2, 2, 1]);
    await Promise.all(roles.flat().map(untilHealthy));
  });
});

describe('docker-compose.yml', () => {
  it('has the first slice 60 s after up at most', () => {
    expect(firstSliceMs).toBeLessThanOrEqual(FIRST_SLICE_AT_MOST_MS);
  });

  it('follows workloads that are applied with kubectl', async () => {
    await cluster.expose('applied', ['192.0.2.10', '192.0.2.11']);
    await cluster.untilSlices('applied', ['192.0.2.10', '192.0.2.11']);

    await cluster.kubectl(['delete', 'externalworkload', 'applied-192-0-2-10']);
    await cluster.untilSlices('applied', ['192.0.2.11']);
  });

  it('has any command at hand', async () => {
    await project.run(['run', '--rm', '-T', 'tether', 'workload', 'ready', 'default/test']);
    await eventually(async () => {
      const explained = await project.run([
        'run',
        '--rm',
        '-T',
        'tether',
        'explain',
        'default/nginx-svc',
      ]);
      expect(explained).toMatch(/^test +in +yes/m);
      expect(explained).toContain('as they should be');
    });
  });

  it('gives each role its own rights and no other', async () => {
    const can = async (user: string, verb: string): Promise<string> => {
      const args = ['auth', 'can-i', verb, 'endpointslices', '--as', user, '-A'];
      const answer = await cluster.kubectl(args).catch((error: Error) => error.message);
      return answer.includes('yes') ? 'yes' : 'no';
    };
    expect(await can('tether-worker', 'create')).toBe('yes');
    expect(await can('tether-watcher', 'watch')).toBe('yes');
    expect(await can('tether-watcher', 'create')).toBe('no');
    expect(await can('tether-worker', 'watch')).toBe('no');
  });

  it('answers look-ups of a linked cluster on the port that Docker gave', async () => {
    // Its own API server is as good as another one.
    const link = ['link', '--name', 'other', '--kubeconfig', '/access/kubeconfig'];
    await project.run(['run', '--rm', '-T', 'tether', ...link]);
    const address = await project.address('lookup', 8080);
    const path = '/v1/clusters/other/services/default/nginx-svc/endpoints';
    await eventually(async () => {
      const response = await fetch(`http://${address}${path}`);
      const text = await response.text();
      expect({ status: response.status, text }).toMatchObject({ status: 200 });
      expect(SAMPLES.filter((ip) => text.includes(ip))).toEqual(SAMPLES);
    });
  });

  it('leads nobody to Valkey or etcd who is not to write there', async () => {
    for (const [service, network] of [
      ['valkey', 'queue'],
      ['etcd', 'etcd'],
    ] as const) {
      const [id = ''] = await project.running(service);
      expect(
        await inspect(id, '{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}'),
      ).toBe(`${project.name}_${network}`);
      expect(await inspect(id, '{{json .HostConfig.PortBindings}}')).toBe('{}');
    }
  });

  it('has a Valkey that keeps what it was told, on disk and in memory', async () => {
    const [id = ''] = await project.running('valkey');
    const config = async (name: string): Promise<string> =>
      (await must('docker', ['exec', id, 'valkey-cli', 'config', 'get', name])).trim();

    expect(await config('appendonly')).toBe('appendonly\nyes');
    expect(await config('maxmemory-policy')).toBe('maxmemory-policy\nnoeviction');
  });

  it('runs as many workers as it is scaled to', async () => {
    await project.up(['--scale', 'worker=4']);
    const workers = await project.running('worker');

    expect(workers).toHaveLength(4);
    await Promise.all(workers.map(untilHealthy));
    await cluster.expose('scaled', ['192.0.2.20']);
    await cluster.untilSlices('scaled', ['192.0.2.20']);
  });
});

describe('what follows when a container is killed', () => {
  it.each(['worker', 'watcher'])('goes on with the %ss that are left', async (role) => {
    const [victim = ''] = await project.running(role);
    const addresses = Array.from({ length: 10 }, (_, index) => `192.0.2.${30 + index}`);
    await cluster.expose(`no-${role}`, addresses.slice(0, 5));
    await must('docker', ['kill', victim]);
    await cluster.expose(`no-${role}`, addresses);

    await cluster.untilSlices(`no-${role}`, addresses);
    await must('docker', ['start', victim]);
    await untilHealthy(victim);
  });

  it('goes on when Valkey is back', async () => {
    const [valkey = ''] = await project.running('valkey');
    await must('docker', ['kill', valkey]);
    await cluster.expose('no-valkey', ['192.0.2.50']);
    await must('docker', ['start', valkey]);

    await cluster.untilSlices('no-valkey', ['192.0.2.50']);
  });
});

describe('the profile ops', () => {
  interface Targets {
    readonly data: {
      readonly activeTargets: readonly { labels: { role: string }; health: string }[];
    };
  }
  interface Rules {
    readonly data: {
      readonly groups: readonly { rules: readonly { name: string; health: string }[] }[];
    };
  }
  let url: string;
  const ask = async <T>(path: string): Promise<T> =>
    (await fetch(`${url}${path}`)).json() as Promise<T>;

  beforeAll(async () => {
    // Grafana's image has no stand-in: it is looked at nowhere but where there is a registry.
    await project.run(['--profile', 'ops', 'up', '--detach', '--no-deps', 'prometheus']);
    url = `http://${await project.address('prometheus', 9090)}`;
  });

  it('scrapes each process of each role', async () => {
    const { length } = await project.running('worker');
    await eventually(
      async () => {
        const { data } = await ask<Targets>('/api/v1/targets?state=active');
        const well = data.activeTargets.filter(({ health }) => health === 'up');
        const count = (role: string): number =>
          well.filter(({ labels }) => labels.role === role).length;
        expect(['watcher', 'worker', 'lookup'].map(count)).toEqual([2, length, 1]);
      },
      { timeoutMs: 90_000, intervalMs: 500 },
    );
  });

  it('has our alerts, and can judge each', async () => {
    const text = readFileSync(join(ROOT, 'infra/helm/tether/files/alerts.yaml'), 'utf8');
    const names = [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => String(name));
    expect(names.length).toBeGreaterThan(0);

    await eventually(
      async () => {
        const { data } = await ask<Rules>('/api/v1/rules');
        const rules = data.groups.flatMap((group) => group.rules);
        expect(rules.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
        expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
      },
      { timeoutMs: 90_000, intervalMs: 500 },
    );
  });
});

describe('bad input', () => {
  const runOnce = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    project.try(['run', '--rm', '-T', '--no-deps', ...args], env);

  it('refuses a Redis URL that is none: one line, exit code 2', async () => {
    const { code, stderr } = await runOnce(['-e', 'TETHER_REDIS_URL=http://valkey:6379', 'worker']);

    expect(code).toBe(2);
    expect(tetherLines(stderr)).toEqual([
      expect.stringContaining('TETHER_REDIS_URL (not shown): expected a URL'),
    ]);
  });

  it('says where no Redis answers: one line, exit code 1', async () => {
    const { code, stderr } = await runOnce([
      '-e',
      'TETHER_REDIS_URL=redis://127.0.0.1:6379',
      'worker',
    ]);

    expect(code).toBe(1);
    expect(tetherLines(stderr)).toEqual([
      expect.stringContaining('Redis at 127.0.0.1:6379 does not answer'),
    ]);
  });

  it('says that a port is taken inside of the container: one line, exit code 1', async () => {
    const { code, stderr } = await runOnce(['-e', 'TETHER_HTTP_PORT=8080', 'lookup']);

    expect(code).toBe(1);
    expect(tetherLines(stderr)).toEqual([
      expect.stringContaining('--http-port: port 8080 is in use'),
    ]);
  });

  it('says that a port is taken on the host', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      const env = { TETHER_LOOKUP_PORT: String(port) };
      const { code, stdout, stderr } = await runOnce(['--service-ports', 'lookup'], env);

      expect(code).not.toBe(0);
      expect(stdout + stderr).toMatch(new RegExp(`${port}.*(in use|allocated)`));
    } finally {
      server.close();
      await once(server, 'close');
    }
  });

  it('says that an own cluster needs its kubeconfig', async () => {
    const own = new Project('docker-compose.own-cluster.yml', { TETHER_KUBECONFIG_FILE: '' });
    const { code, stderr } = await own.try(['up', '--detach']);

    expect(code).not.toBe(0);
    expect(stderr).toContain('set TETHER_KUBECONFIG_FILE to the kubeconfig of your cluster');
    expect(await own.left()).toEqual([]);
  });

  it('says that the kubeconfig may not be read: one line, exit code 2', async () => {
    const file = join(folder, 'private.kubeconfig');
    writeFileSync(file, 'apiVersion: v1\nkind: Config\n', { mode: 0o600 });
    const own = new Project('docker-compose.own-cluster.yml', { TETHER_KUBECONFIG_FILE: file });
    try {
      const { code, stderr } = await own.try(['run', '--rm', '-T', 'install']);

      expect(code).toBe(2);
      expect(tetherLines(stderr)).toEqual([
        expect.stringContaining('the kubeconfig /access/kubeconfig cannot be read (EACCES)'),
      ]);
    } finally {
      await own.remove();
    }
  });

  it('says that the kubeconfig is a folder, as compose v2 makes of a path that names nothing', async () => {
    const path = join(folder, 'no.kubeconfig');
    mkdirSync(path, { mode: 0o755 });
    const own = new Project('docker-compose.own-cluster.yml', { TETHER_KUBECONFIG_FILE: path });
    try {
      const { code, stderr } = await own.try(['run', '--rm', '-T', 'install']);

      expect(code).toBe(2);
      expect(tetherLines(stderr)).toEqual([
        expect.stringMatching(/\/access\/kubeconfig is a folder: .*TETHER_KUBECONFIG_FILE/),
      ]);
    } finally {
      await own.remove();
    }
  });
});

describe('docker-compose.own-cluster.yml', () => {
  it('serves the cluster of a kubeconfig that only its user may read', async () => {
    // Two installs on one cluster would write the same slices.
    await project.run(['stop', 'watcher', 'worker', 'lookup', 'valkey']);
    const gateway = '{{(index .IPAM.Config 0).Gateway}}';
    const host = await must('docker', ['network', 'inspect', '--format', gateway, 'bridge']);
    const server = await forward(host.trim(), cluster.port);
    const file = join(folder, 'own.kubeconfig');
    copyFileSync(cluster.kubeconfig, file);
    const address = ['--server', `https://host.docker.internal:${server.port}`];
    const args = ['--kubeconfig', file, 'config', 'set-cluster', 'compose', ...address];
    await cluster.kubectl([...args, '--tls-server-name', 'localhost']);
    const user = `${process.getuid?.()}:${process.getgid?.()}`;
    const env = { TETHER_KUBECONFIG_FILE: file, TETHER_USER: user };
    const own = new Project('docker-compose.own-cluster.yml', env);
    try {
      await own.up();
      await cluster.expose('own', ['192.0.2.60']);

      await cluster.untilSlices('own', ['192.0.2.60']);
      expect(await own.running('worker')).toHaveLength(2);
    } finally {
      await own.remove();
      await server.close();
    }
    expect(await own.left()).toEqual([]);
  });
});

describe('taking it down', () => {
  it('keeps the cluster and the queue for the next up', async () => {
    await cluster.expose('kept', ['192.0.2.69']);
    await project.run(['--profile', 'ops', 'down', '--timeout', '20']);
    expect((await project.left()).filter((one) => !one.startsWith('volume'))).toEqual([]);

    await up();
    expect(await cluster.kubectl(['get', 'service', 'kept'])).toContain('kept');
    await cluster.expose('again', ['192.0.2.70']);
    await cluster.untilSlices('again', ['192.0.2.70']);
  });

  it('leaves nothing behind with --volumes', async () => {
    await project.remove();

    expect(await project.left()).toEqual([]);
  });
});

/** What Tether itself said, without the lines of compose. */
function tetherLines(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('tether: '));
}
