import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../platform/config.ts';
import { OPTIONS } from '../../platform/config/options.ts';
import { CRD_NAME } from '../../platform/kube/crd.ts';
import { createMetrics } from '../../platform/telemetry/metrics.ts';
import { CHART, helm, ofKind, render, VALUES, valuesOf, type Rendered } from '../helm/helm.ts';
import type { ValuesName } from '../helm/helm.ts';
import { api } from '../support/api.ts';
import { kubectl } from '../support/kubectl.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { mergePatch } from '../support/objects.ts';
import { fromRun } from '../support/run.ts';

/*
 * What the chart makes of values: linted, checked by a real API server, and held to what the rest of the
 * repository says. That it works is in helm-install.test.ts.
 */
const INFRA = join(import.meta.dirname, '../../infra');
const KINDS = [
  'scaledobjects.keda.sh',
  'podmonitors.monitoring.coreos.com',
  'prometheusrules.monitoring.coreos.com',
];
/** Helm is built where that has not been done yet. */
const BUILD_MS = 600_000;

let ns: string;
const rendered = new Map<ValuesName, readonly Rendered[]>();
const objectsOf = (name: ValuesName): readonly Rendered[] => rendered.get(name) ?? [];

beforeAll(async () => {
  ns = await freshNamespace('helm');
  await kubectl(['apply', '--server-side', '-f', join(import.meta.dirname, '../helm/crds')]);
  for (const name of VALUES) rendered.set(name, await render(valuesOf(name), ns));
  const known = KINDS.map((kind) => `crd/${kind}`);
  await kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...known]);
}, BUILD_MS);

const ROLES = ['watcher', 'worker', 'lookup'] as const;

interface Probe {
  readonly httpGet: object;
}

/** As far as tests look into a Pod. */
interface PodSpec {
  readonly securityContext?: object;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly topologySpreadConstraints: readonly object[];
  readonly containers: readonly {
    readonly image: string;
    readonly args: readonly string[];
    readonly ports: readonly object[];
    readonly startupProbe?: Probe;
    readonly livenessProbe?: Probe;
    readonly readinessProbe?: Probe;
    readonly env: readonly {
      readonly name: string;
      readonly value?: string;
      readonly valueFrom?: object;
    }[];
  }[];
}

interface Deployment extends Rendered {
  readonly spec: {
    readonly replicas?: number;
    readonly template: { readonly metadata: object; readonly spec: PodSpec };
  };
}

interface Role extends Rendered {
  readonly rules: readonly { readonly resources: readonly string[] }[];
}

function deployment(name: ValuesName, role: string): Deployment {
  const [found] = ofKind<Deployment>(objectsOf(name), 'Deployment', `-${role}`);
  if (found === undefined) throw new Error(`no Deployment of ${role}`);
  return found;
}

/** Literal variables of a role's container. */
function envOf(name: ValuesName, role: string): Record<string, string> {
  const [container] = deployment(name, role).spec.template.spec.containers;
  const literal = (container?.env ?? []).filter(({ valueFrom }) => valueFrom === undefined);
  return Object.fromEntries(literal.map(({ name: key, value }) => [key, value ?? '']));
}

/** The one object of a kind, by values. */
function only<T extends Rendered>(name: ValuesName, kind: string): T {
  const [found, ...more] = ofKind<T>(objectsOf(name), kind);
  if (found === undefined || more.length > 0) throw new Error(`not one ${kind}`);
  return found;
}

describe.each(VALUES)('the chart with values %s', (name) => {
  it('passes helm lint --strict', async () => {
    const { code, stdout, stderr } = await helm(['lint', '--strict', CHART, ...valuesOf(name)]);
    expect({ code, out: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, out: '' });
  });

  it('is accepted by the API server, every object and every field of it', async () => {
    const objects = objectsOf(name);
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    const args = ['apply', '--dry-run=server', '--validate=strict', '-o', 'name', '-f', '-'];
    const accepted = (await kubectl(args, JSON.stringify(list))).trim().split('\n');
    expect(accepted).toHaveLength(objects.length);
  });

  it('gives roles nothing but options that there are, with values that they take', () => {
    for (const { metadata } of ofKind(objectsOf(name), 'Deployment')) {
      const env = envOf(name, metadata.name.split('-').at(-1) ?? '');
      // That comes from the Secret. Options of TLS and of Sentinels want a URL of their kind.
      const url = { TETHER_REDIS_URL: 'rediss+sentinel://sentinel.example/main' };
      expect(() => readConfig({}, { ...url, ...env })).not.toThrow();
      const own = Object.keys(env).filter((variable) => variable.startsWith('TETHER_'));
      expect(Object.values(OPTIONS).map((option) => option.env)).toEqual(
        expect.arrayContaining(own),
      );
    }
  });

  it('makes Pods that the Pod Security Standard `restricted` allows', async () => {
    const restricted = await freshNamespace('helm-restricted');
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await mergePatch(`/api/v1/namespaces/${restricted}`, { metadata: { labels } });
    const create = (pod: object) =>
      api('POST', `/api/v1/namespaces/${restricted}/pods?dryRun=All`, pod);
    for (const { spec } of ofKind<Deployment>(objectsOf(name), 'Deployment')) {
      const { metadata, spec: pod } = spec.template;
      const made = await create({ metadata: { ...metadata, name: 'one' }, spec: pod });
      expect(made).toMatchObject({ status: 201 });
      const { securityContext: _, ...bare } = pod;
      // Which such a namespace does not do for every Pod.
      const refused = await create({ metadata: { ...metadata, name: 'one' }, spec: bare });
      expect(refused).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    }
  });
});

describe('what infra/ has', () => {
  it.each([
    ['rbac/watcher.yaml', 'files/rbac/watcher.yaml'],
    ['rbac/worker.yaml', 'files/rbac/worker.yaml'],
    ['rbac/cluster-secrets.yaml', 'files/rbac/cluster-secrets.yaml'],
    ['crd/externalworkloads.yaml', 'files/crd/externalworkloads.yaml'],
  ])('infra/%s is in the chart as it is: copy it there after a change', (source, copy) => {
    expect(readFileSync(join(CHART, copy), 'utf8')).toBe(readFileSync(join(INFRA, source), 'utf8'));
  });
});

describe('rights', () => {
  it.each(['watcher', 'worker'])('of the %s are those of infra/rbac, and no others', (role) => {
    const documents = ['watcher', 'worker', 'cluster-secrets'].flatMap((file) =>
      parseAllDocuments(readFileSync(join(INFRA, `rbac/${file}.yaml`), 'utf8')),
    );
    const source = documents.map((one) => one.toJS() as Role);
    for (const kind of ['ClusterRole', 'Role']) {
      const [here] = ofKind<Role>(objectsOf('defaults'), kind, `-${role}`);
      const [there] = ofKind<Role>(source, kind, `-${role}`);
      expect(there?.rules.length).toBeGreaterThan(0);
      expect(here?.rules).toEqual(there?.rules);
    }
  });

  it('on Secrets are those of one namespace', () => {
    for (const [name, namespace] of [
      ['defaults', ns],
      ['everything', 'default'],
    ] as const) {
      const cluster = ofKind<Role>(objectsOf(name), 'ClusterRole');
      expect(cluster.flatMap(({ rules }) => rules.flatMap(({ resources }) => resources))).toEqual(
        expect.not.arrayContaining(['secrets', '*']),
      );
      const roles = ofKind(objectsOf(name), 'Role');
      const bindings = ofKind(objectsOf(name), 'RoleBinding');
      for (const one of [...roles, ...bindings]) expect(one.metadata.namespace).toBe(namespace);
      expect(roles.map((one) => one.metadata.name).toSorted()).toEqual(
        bindings.map((one) => one.metadata.name).toSorted(),
      );
    }
  });

  it('are for watcher and worker: look-ups have no token of the API server', () => {
    const automounts = ROLES.map(
      (role) => deployment('defaults', role).spec.template.spec.automountServiceAccountToken,
    );
    expect(automounts).toEqual([true, true, false]);
    const subjects = ofKind(objectsOf('defaults'), 'ClusterRoleBinding');
    expect(subjects.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'tether-watcher',
      'tether-worker',
    ]);
  });
});

describe('the CRD', () => {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${CRD_NAME}`;
  /** As Helm marks what it makes. */
  const mark = (release: string | null) =>
    mergePatch(path, {
      metadata: {
        labels: { 'app.kubernetes.io/managed-by': release === null ? 'tether' : 'Helm' },
        annotations: {
          'meta.helm.sh/release-name': release,
          'meta.helm.sh/release-namespace': release === null ? null : ns,
        },
      },
    });
  /** As helm would install it: it may look at what the cluster has, roles of other test files among that. */
  const asked = async (): Promise<Rendered[]> => {
    const args = ['--dry-run=server', '--set', `fullnameOverride=${ns}`];
    return ofKind(await render(args, ns, fromRun('kubeconfig')), 'CustomResourceDefinition');
  };

  it('is ours, and stays when the release goes: with it all ExternalWorkloads would go', () => {
    const source = parse(readFileSync(join(INFRA, 'crd/externalworkloads.yaml'), 'utf8')) as object;
    const crd = only('defaults', 'CustomResourceDefinition');
    expect(crd).toMatchObject(source);
    expect(crd.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
  });

  it('of somebody else is left alone; that of the release is kept up to date', async () => {
    expect(await asked()).toEqual([]);
    try {
      await mark('another');
      expect(await asked()).toEqual([]);
      await mark('tether');
      expect(await asked()).toHaveLength(1);
    } finally {
      await mark(null);
    }
  });
});

describe('options', () => {
  it('reach every role, and one role alone where they are its own', () => {
    expect(envOf('everything', 'worker')).toMatchObject({
      TETHER_NAMESPACES: 'shop,build',
      TETHER_WORKLOAD_CIDRS_ALLOW: '192.0.2.0/24,2001:db8:7::/64',
      TETHER_RESYNC_SECONDS: '900.5',
      // Not 5e+06.
      TETHER_CLUSTERS_MAX_OBJECTS: '5000000',
      TETHER_CLUSTERS_ALLOW_INSECURE_TLS: 'true',
      TETHER_NAMESPACE: 'default',
      TETHER_REDIS_CA_FILE: '/etc/tether/redis/ca.crt',
      TETHER_REDIS_KEY_FILE: '/etc/tether/redis/tls.key',
      TETHER_LOG_LEVEL: 'debug',
    });
    expect(envOf('everything', 'watcher')).toMatchObject({ TETHER_LOG_LEVEL: 'info' });
    expect(envOf('everything', 'lookup')).toMatchObject({
      TETHER_LOOKUP_ADDR: '*:8480',
      TETHER_LOOKUP_TOKEN_FILE: '/etc/tether/lookup/token',
      TETHER_TRIGGER_TOKEN_FILE: '/etc/tether/trigger/token',
    });
  });

  it('are all there, but for those that the chart sets itself', () => {
    const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as {
      readonly definitions: { readonly config: { readonly properties: object } };
    };
    const camelCase = (flag: string): string =>
      flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const flags = Object.values(OPTIONS).map(({ flag }) => flag as string);
    const offered = flags.filter((flag) => !SET_BY_THE_CHART.some((set) => set.test(flag)));
    expect(Object.keys(schema.definitions.config.properties).toSorted()).toEqual(
      offered.map(camelCase).toSorted(),
    );
  });

  it('say how long a worker may take to end', () => {
    const grace = (name: ValuesName): number =>
      deployment(name, 'worker').spec.template.spec.terminationGracePeriodSeconds;
    expect([grace('defaults'), grace('everything')]).toEqual([30, 50]);
  });

  it('hold no secret: that of Redis comes from where the user put it', () => {
    const [container] = deployment('everything', 'worker').spec.template.spec.containers;
    expect(container?.env.filter(({ valueFrom }) => valueFrom !== undefined)).toEqual([
      { name: 'TETHER_REDIS_URL', valueFrom: { secretKeyRef: { name: 'redis', key: 'uri' } } },
      {
        name: 'TETHER_REDIS_SENTINEL_PASSWORD',
        valueFrom: { secretKeyRef: { name: 'redis', key: 'sentinels' } },
      },
    ]);
    expect(ofKind(objectsOf('everything'), 'Secret')).toEqual([]);
  });
});

/** Where things are, which the chart knows; credentials, which come as files; what no role of it heeds. */
const SET_BY_THE_CHART = [
  /^(redis-url|kubeconfig|context|namespace|http-port|http-host|lookup-addr)$/,
  /-(file|token|password)$/,
  /^(board|function)-/,
];

describe('probes', () => {
  it.each(ROLES)(
    'of the %s: whether it lives and whether it is ready, each by its path',
    (role) => {
      const [container] = deployment('defaults', role).spec.template.spec.containers;
      const asks = (path: string) => ({ httpGet: { path, port: 'http' } });
      expect(container).toMatchObject({
        startupProbe: asks('/healthz'),
        livenessProbe: asks('/healthz'),
        readinessProbe: asks('/readyz'),
      });
      // Where the image answers both.
      expect(container?.ports).toContainEqual({ name: 'http', containerPort: 9090 });
    },
  );
});

describe('the spread', () => {
  it.each(ROLES)('of the %s is over zones and nodes, as far as can be had', (role) => {
    const { metadata, spec } = deployment('defaults', role).spec.template;
    const labels = { 'app.kubernetes.io/component': role };
    expect(metadata).toMatchObject({ labels });
    expect(spec.topologySpreadConstraints).toEqual(
      ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'ScheduleAnyway',
        // Pods of the release before are not counted.
        matchLabelKeys: ['pod-template-hash'],
        labelSelector: { matchLabels: expect.objectContaining(labels) },
      })),
    );
  });

  it('of one’s own gets the selector of its role', () => {
    const [one] = deployment('everything', 'watcher').spec.template.spec.topologySpreadConstraints;
    expect(one).toMatchObject({
      topologyKey: 'example.com/rack',
      labelSelector: { matchLabels: { 'app.kubernetes.io/component': 'watcher' } },
    });
  });
});

describe('autoscaling', () => {
  interface Scaled extends Rendered {
    readonly spec: {
      readonly triggers: readonly { readonly metadata: Readonly<Record<string, string>> }[];
    };
  }
  const triggers = (name: ValuesName) => only<Scaled>(name, 'ScaledObject').spec.triggers;

  it('leaves the number of workers alone, and no other', () => {
    for (const name of ['scale-to-zero', 'hpa'] as const) {
      expect(deployment(name, 'worker').spec).not.toHaveProperty('replicas');
      expect(deployment(name, 'watcher').spec.replicas).toBe(2);
    }
    expect(deployment('defaults', 'worker').spec.replicas).toBe(2);
  });

  it('asks for metrics that there are', async () => {
    const text = await createMetrics({ processMetrics: () => Promise.resolve('') }).render();
    const queries = triggers('scale-to-zero').map(({ metadata }) => metadata['query'] ?? '');
    const names = queries.flatMap((query) => query.match(/\b(?:workqueue|tether)_\w+/g) ?? []);
    expect(names).toEqual(['workqueue_depth', 'tether_queue_oldest_seconds']);
    for (const metric of names) expect(text).toContain(`# TYPE ${metric} gauge`);
  });

  it('to none is by KEDA: the first key that waits starts a worker, silence stops none', () => {
    expect(only('scale-to-zero', 'ScaledObject')).toMatchObject({
      spec: {
        scaleTargetRef: { name: 'tether-worker' },
        minReplicaCount: 0,
        maxReplicaCount: 4,
        triggers: [
          {
            metricType: 'AverageValue',
            metadata: {
              query: `sum(max by (name) (workqueue_depth{namespace="${ns}"}))`,
              threshold: '500',
              activationThreshold: '0',
              ignoreNullValues: 'false',
            },
          },
          {
            metricType: 'Value',
            metadata: {
              query: `max(tether_queue_oldest_seconds{namespace="${ns}"})`,
              threshold: '10',
            },
          },
        ],
      },
    });
    expect(triggers('everything')[0]?.metadata['query']).toContain(
      '{job="tether",namespace="edge"}',
    );
  });

  it('by a HorizontalPodAutoscaler has the same thresholds', () => {
    const target = (name: string, target: object) => ({
      external: { metric: { name, selector: { matchLabels: { install: 'tether' } } }, target },
    });
    expect(only('hpa', 'HorizontalPodAutoscaler')).toMatchObject({
      spec: {
        minReplicas: 3,
        metrics: [
          target('workqueue_depth', { type: 'AverageValue', averageValue: '2000000' }),
          target('tether_queue_oldest_seconds', { type: 'Value', value: '2.5' }),
        ],
      },
    });
  });
});

describe('networks', () => {
  interface Policy extends Rendered {
    readonly spec: {
      readonly podSelector: { readonly matchLabels: object };
      readonly policyTypes: readonly string[];
      readonly ingress: readonly object[];
      readonly egress: readonly { readonly ports: readonly { port: number }[] }[];
    };
  }
  const policyOf = (name: ValuesName, role: string): Policy['spec'] => {
    const [policy] = ofKind<Policy>(objectsOf(name), 'NetworkPolicy', `-${role}`);
    if (policy === undefined) throw new Error(`no NetworkPolicy of ${role}`);
    return policy.spec;
  };
  const portsTo = (role: string): number[] =>
    policyOf('defaults', role).egress.flatMap(({ ports }) => ports.map(({ port }) => port));
  const port = (number: number) => [{ protocol: 'TCP', port: number }];

  it.each(ROLES)('are those of the Pods of the %s, either way', (role) => {
    const { podSelector, policyTypes } = policyOf('defaults', role);
    const { metadata } = deployment('defaults', role).spec.template;
    expect(metadata).toMatchObject({ labels: podSelector.matchLabels });
    expect(podSelector.matchLabels).toMatchObject({ 'app.kubernetes.io/component': role });
    expect(policyTypes.toSorted()).toEqual(['Egress', 'Ingress']);
  });

  it('let Pods of the cluster see metrics and look up, and nothing else in', () => {
    const from = [{ namespaceSelector: {} }];
    const metrics = { ports: port(9090), from };
    expect(policyOf('defaults', 'watcher').ingress).toEqual([metrics]);
    expect(policyOf('defaults', 'worker').ingress).toEqual([metrics]);
    expect(policyOf('defaults', 'lookup').ingress).toEqual([metrics, { ports: port(8480), from }]);
  });

  it('let in whom the values name, and anybody for an empty list', () => {
    const labels = { 'kubernetes.io/metadata.name': 'monitoring' };
    const metrics = { ports: port(9090), from: [{ namespaceSelector: { matchLabels: labels } }] };
    expect(policyOf('everything', 'lookup').ingress).toEqual([metrics, { ports: port(8480) }]);
  });

  it('let a look-up reach Redis and names, and no API server', () => {
    const [dns, redis, api] = [
      [53, 53],
      [6379, 6380, 26379],
      [443, 6443],
    ];
    expect(portsTo('lookup')).toEqual([...dns, ...redis]);
    expect(portsTo('worker')).toEqual([...dns, ...redis, ...api]);
  });
});

it('what is switched off is not there', async () => {
  const off = ['crds.install', 'rbac.create', 'lookup.enabled', 'networkPolicy.enabled'];
  const sets = [...off, 'worker.podDisruptionBudget.enabled'].map((value) => `${value}=false`);
  const kinds = (await render(['--set', sets.join(',')], ns)).map(({ kind }) => kind);
  expect(kinds.toSorted()).toEqual([
    'Deployment',
    'Deployment',
    'PodDisruptionBudget',
    'ServiceAccount',
    'ServiceAccount',
  ]);
});

describe('monitoring', () => {
  it('has the alerts of files/alerts.yaml, with links that lead somewhere', () => {
    const file = readFileSync(join(CHART, 'files/alerts.yaml'), 'utf8');
    const [source] = parseAllDocuments(file).map((one) => one.toJS() as AlertFile);
    const { spec } = only<Rendered & { readonly spec: AlertFile }>('everything', 'PrometheusRule');
    const alerts = (from: AlertFile | undefined) =>
      from?.groups.flatMap(({ rules }) => rules) ?? [];
    expect(alerts(spec).length).toBeGreaterThan(10);
    expect(alerts(spec)).toEqual(
      alerts(source).map((rule) => ({
        ...rule,
        annotations: {
          ...rule.annotations,
          runbook_url: `https://git.example/${rule.annotations.runbook_url}`,
        },
      })),
    );
  });

  it('has the dashboard of files/dashboard.json, where Grafana’s sidecar looks for it', () => {
    const map = only<ConfigMap>('everything', 'ConfigMap');
    expect(map.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    const file = readFileSync(join(CHART, 'files/dashboard.json'), 'utf8');
    expect(JSON.parse(map.data['tether.json'] ?? '')).toEqual(JSON.parse(file));
  });

  it('scrapes the Pods of every role', () => {
    const { spec } = only<Monitor>('everything', 'PodMonitor');
    for (const role of ROLES) {
      const { metadata } = deployment('everything', role).spec.template;
      expect(metadata).toMatchObject({ labels: spec.selector.matchLabels });
    }
  });
});

interface ConfigMap extends Rendered {
  readonly data: Readonly<Record<string, string>>;
}

interface Monitor extends Rendered {
  readonly spec: { readonly selector: { readonly matchLabels: object } };
}

interface AlertFile {
  readonly groups: readonly {
    readonly rules: readonly { readonly annotations: { readonly runbook_url: string } }[];
  }[];
}

describe('values that are wrong', () => {
  it.each([
    ['worker.replcas=3', /^- at '\/worker': additional properties 'replcas' not allowed$/m],
    ['config.concurency=3', /^- at '\/config': additional properties 'concurency' not allowed$/m],
    [
      'worker.config.concurrency=lots',
      /^- at '\/worker\/config\/concurrency': got string, want integer$/m,
    ],
    ['config.logLevel=loud', /^- at '\/config\/logLevel': value must be one of 'debug', 'info'/m],
    ['redis.existingSecret=', /redis\.existingSecret: name the Secret that holds the URL of Redis/],
    [
      'worker.autoscaling.keda.enabled=true',
      /worker\.autoscaling\.keda\.prometheusUrl: say where Prometheus is, such as http/,
    ],
    [
      'worker.autoscaling.keda.enabled=true,worker.autoscaling.hpa.enabled=true',
      /worker\.autoscaling: keda and hpa are both enabled, and would fight over the replicas/,
    ],
    [
      'worker.autoscaling.hpa.enabled=true,worker.autoscaling.minReplicas=0',
      /minReplicas is 0, from which a HorizontalPodAutoscaler never scales up/,
    ],
    [
      'worker.autoscaling.hpa.enabled=true,worker.autoscaling.minReplicas=11',
      /is more than maxReplicas 10/,
    ],
  ])('%s: one line says which and why', async (set, line) => {
    const { code, stderr } = await helm(['template', 'tether', CHART, '--set', set]);
    expect(code).toBe(1);
    expect(stderr.split('\n').filter((each) => line.test(each))).toHaveLength(1);
  });

  it('a password in a URL that all can read: refused, and not repeated', async () => {
    const set = 'redis.url=redis://:hunter2@redis:6379';
    const { code, stderr } = await helm(['template', 'tether', CHART, '--set', set]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/redis\.url: it holds a user or a password/);
    expect(stderr).not.toContain('hunter2');
  });
});
