import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { imageOf } from '../../compose/images.ts';

/*
 * What the compose files say, for what no run of them sees: Grafana, which has no stand-in, and the versions
 * that stand-ins have by themselves. What can be run is run in test/compose.
 */
const ROOT = join(import.meta.dirname, '../../..');
const BASE = 'infra/compose/base.yml';
const FILES = ['docker-compose.yml', 'docker-compose.own-cluster.yml'] as const;

interface Service {
  readonly image?: string;
  readonly command?: string | readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Those written long have no path of the repository. */
  readonly volumes?: readonly (string | object)[];
  readonly extends?: { readonly file: string; readonly service: string };
}

/** A file or folder of the repository, and where a container finds it. */
interface Mount {
  readonly source: string;
  readonly target: string;
}

const read = (path: string): unknown => parse(readFileSync(join(ROOT, path), 'utf8'));

function servicesOf(path: string): Readonly<Record<string, Service>> {
  return (read(path) as { readonly services: Readonly<Record<string, Service>> }).services;
}

/** A service that must be there. */
function serviceOf(path: string, name: string): Service {
  const service = servicesOf(path)[name];
  if (service === undefined) throw new Error(`${path} has no service ${name}`);
  return service;
}

function mountsOf(path: string, { volumes = [] }: Service): Mount[] {
  const short = volumes.filter((volume) => typeof volume === 'string');
  return short
    .map((volume) => volume.split(':'))
    .filter(([source = '']) => source.startsWith('.'))
    .map(([source = '', target = '']) => ({
      source: resolve(ROOT, dirname(path), source),
      target,
    }));
}

describe.each([...FILES, BASE])('%s', (path) => {
  it('mounts nothing that is not there: Docker would make a folder of it', () => {
    const mounts = Object.values(servicesOf(path)).flatMap((service) => mountsOf(path, service));
    expect(mounts.filter(({ source }) => !existsSync(source))).toEqual([]);
  });

  it('extends only services that there are', () => {
    for (const { extends: other } of Object.values(servicesOf(path))) {
      if (other !== undefined) expect(serviceOf(other.file, other.service)).toBeDefined();
    }
  });
});

describe.each(FILES)('Valkey in %s', (path) => {
  it('is that of base.yml, which keeps what it was told: on disk, and when memory is full', () => {
    const { volumes = [], command, ...service } = serviceOf(path, 'valkey');
    expect(service.extends).toEqual({ file: BASE, service: 'valkey' });
    // Which would be in place of the other one.
    expect(command).toBeUndefined();
    expect(volumes).toEqual(['valkey:/data']);
    const started = String(serviceOf(BASE, 'valkey').command);
    expect(started).toMatch(/ --appendonly yes /);
    expect(started).toMatch(/ --maxmemory-policy noeviction /);
  });
});

describe('the cluster of docker-compose.yml', () => {
  const goMod = readFileSync(join(ROOT, 'test/controlplane/go.mod'), 'utf8');

  it.each([
    ['etcd', 'go.etcd.io/etcd/server/v3'],
    ['kube-apiserver', 'k8s.io/kubernetes'],
  ])('has the %s that the tests have, which stands in for the image', (service, module) => {
    const [, ofTests] = new RegExp(`^\\s*${module} v(\\S+)`, 'm').exec(goMod) ?? [];
    // Of etcd's image there are builds: 3.6.8-0.
    const [, ofImage] = /:v?([\d.]+)(?:-\d+)?$/.exec(imageOf(service)) ?? [];
    expect(ofTests).toMatch(/^\d+\.\d+\.\d+$/);
    expect(ofImage).toBe(ofTests);
  });
});

describe('Grafana', () => {
  const grafana = serviceOf(BASE, 'grafana');
  const mounts = mountsOf(BASE, grafana);
  const targetOf = (source: string): string | undefined =>
    mounts.find((mount) => mount.source === join(ROOT, source))?.target;
  const dashboard = targetOf('infra/helm/tether/files/dashboard.json') ?? '';

  it('is given files, each by its own name', () => {
    expect(mounts).toHaveLength(3);
    for (const { source } of mounts) expect(statSync(source).isFile()).toBe(true);
  });

  it('finds what to provide where it looks for that', () => {
    const folder = '/etc/grafana/provisioning';
    const dashboards = targetOf('infra/compose/grafana/dashboards.yml') ?? '';
    const datasources = targetOf('infra/compose/grafana/datasources.yml') ?? '';
    expect(dirname(dashboards)).toBe(`${folder}/dashboards`);
    expect(dirname(datasources)).toBe(`${folder}/datasources`);
  });

  it('has our dashboard in the folder of its provider, and opens with it', () => {
    const { providers } = read('infra/compose/grafana/dashboards.yml') as {
      readonly providers: readonly { readonly options: { readonly path: string } }[];
    };
    expect(providers.map(({ options }) => options.path)).toEqual([dirname(dashboard)]);
    expect(grafana.environment).toMatchObject({
      GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: dashboard,
    });
  });

  it('asks the Prometheus that is beside it', () => {
    const { datasources } = read('infra/compose/grafana/datasources.yml') as {
      readonly datasources: readonly object[];
    };
    expect(datasources).toEqual([
      expect.objectContaining({ type: 'prometheus', url: 'http://prometheus:9090' }),
    ]);
    for (const path of FILES) {
      for (const name of ['prometheus', 'grafana']) {
        expect(serviceOf(path, name).extends).toEqual({ file: BASE, service: name });
      }
    }
  });
});
