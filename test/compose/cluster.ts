import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { eventually } from '../support/eventually.ts';
import { must } from './execute.ts';
import type { Project } from './project.ts';

/** What a user of the cluster of docker-compose.yml does from the host, with kubectl. */
export interface Cluster {
  /** A kubeconfig of its administrator, for the host. */
  readonly kubeconfig: string;
  /** Of the API server, on 127.0.0.1. */
  readonly port: number;
  /** Runs kubectl; `manifest` is what it reads. */
  kubectl(args: readonly string[], manifest?: unknown): Promise<string>;
  /** Makes a Service `name`, and one workload for each address that it selects. */
  expose(name: string, addresses: readonly string[]): Promise<void>;
  /** Waits until the slices of a Service hold these addresses, and no other. */
  untilSlices(service: string, addresses: readonly string[]): Promise<void>;
  /** When the first slice of a Service was there at the latest, in ms: the API server tells seconds. */
  firstSliceAt(service: string): Promise<number>;
}

/** As docs/compose.md has it: a kubeconfig from the project, and the port that Docker gave. */
export async function clusterOf(project: Project, folder: string): Promise<Cluster> {
  const entrypoint = ['--entrypoint', 'cat', 'tether', '/access/kubeconfig'];
  const text = await project.run(['run', '--rm', '-T', '--no-deps', ...entrypoint]);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, text, { mode: 0o600 });
  const server = new URL(`https://${await project.address('kube-apiserver', 6443)}`);
  const program = (await controlPlaneBinaries()).kubectl;
  const kubectl = (args: readonly string[], manifest?: unknown): Promise<string> => {
    const input = manifest === undefined ? {} : { input: JSON.stringify(manifest) };
    return must(program, ['--kubeconfig', kubeconfig, ...args], input);
  };
  await kubectl(['config', 'set-cluster', 'compose', '--server', server.origin]);
  return {
    kubeconfig,
    port: Number(server.port),
    kubectl,
    expose: async (name, addresses) => {
      const items = [service(name), ...addresses.map((ip) => workload(name, ip))];
      await kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
    },
    firstSliceAt: async (name) => {
      const { items } = await slicesOf(kubectl, name);
      const times = items.map(({ metadata }) => Date.parse(metadata.creationTimestamp));
      return Math.min(...times) + 1000;
    },
    untilSlices: (name, addresses) =>
      eventually(
        async () => {
          const there = await addressesOf(kubectl, name);
          const wanted = [...addresses].toSorted();
          if (there.join() !== wanted.join()) {
            throw new Error(
              `the slices of ${name} have ${there.join() || 'nothing'}, not ${wanted.join()}`,
            );
          }
        },
        { timeoutMs: 60_000, intervalMs: 100 },
      ),
  };
}

interface SliceList {
  readonly items: readonly {
    readonly metadata: { readonly creationTimestamp: string };
    readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null;
  }[];
}

async function slicesOf(kubectl: Cluster['kubectl'], service: string): Promise<SliceList> {
  const selector = `kubernetes.io/service-name=${service}`;
  const text = await kubectl(['get', 'endpointslices', '-l', selector, '-o', 'json']);
  return JSON.parse(text) as SliceList;
}

async function addressesOf(kubectl: Cluster['kubectl'], service: string): Promise<string[]> {
  const { items } = await slicesOf(kubectl, service);
  const addresses = items
    .flatMap(({ endpoints }) => endpoints ?? [])
    .flatMap((one) => one.addresses);
  return addresses.toSorted();
}

function service(name: string): unknown {
  const ports = [{ name: 'http', port: 80, targetPort: 'http' }];
  const spec = { selector: { app: name }, ports };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec };
}

function workload(app: string, ip: string): unknown {
  return {
    apiVersion: 'workload.linkerd.io/v1beta1',
    kind: 'ExternalWorkload',
    metadata: { name: `${app}-${ip.replaceAll('.', '-')}`, labels: { app } },
    spec: {
      meshTLS: {
        identity: `spiffe://root.linkerd.cluster.local/${app}`,
        serverName: `${app}.cluster.local`,
      },
      workloadIPs: [{ ip }],
      ports: [{ name: 'http', port: 80 }],
    },
  };
}
