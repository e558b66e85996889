import { setTimeout as delay } from 'node:timers/promises';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { monotonicMs } from '../clock.ts';
import { addressesOf, REMOTE_NAMESPACE, type Change } from './doubles-api.ts';
import type { RealChanges } from './reader-api.ts';

/** Changes of a Service that is behind a real API server. */

const NAME = 'service-0';
const PER = 4;
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${REMOTE_NAMESPACE}/endpointslices`;
const SLICE = `${NAME}-slice`;
const SETTLE_MS = 500;
let made = 0;

async function connect(kubeconfig: string): Promise<KubeClient> {
  return createKubeClient(await loadKubeConfig({ path: kubeconfig, env: {} }));
}

/** Makes `service-0` with a slice as the doubles have it. */
export async function prepareReal(kubeconfig: string): Promise<void> {
  const client = await connect(kubeconfig);
  const create = (path: string, body: object): Promise<unknown> =>
    client.create(path, body, { what: `create ${path}` });
  await create('/api/v1/namespaces', { metadata: { name: REMOTE_NAMESPACE } });
  await create(`/api/v1/namespaces/${REMOTE_NAMESPACE}/services`, {
    metadata: { name: NAME },
    spec: { ports: [{ name: 'http', port: 80 }] },
  });
  await create(SLICES, sliceOf(addressesOf(0, PER)));
  await client.close();
}

function sliceOf(addresses: readonly string[]): object {
  return {
    metadata: { name: SLICE, labels: { [LABEL_SERVICE_NAME]: NAME } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  };
}

/** One new address after another; a watch of the API server itself is what is possible at best. */
export async function changeReal(
  kubeconfig: string,
  perSecond: number,
  seconds: number,
): Promise<RealChanges> {
  const client = await connect(kubeconfig);
  const stopping = new AbortController();
  const told: Change[] = [];
  const watching = watchDirectly(client, told, stopping.signal);
  await delay(SETTLE_MS);
  const rest = addressesOf(0, PER).slice(1);
  const changes: Change[] = [];
  const writes: Promise<unknown>[] = [];
  const from = monotonicMs();
  for (let nth = 0; nth < perSecond * seconds; nth += 1) {
    await delay(Math.max(0, from + (nth * 1000) / perSecond - monotonicMs()));
    made += 1;
    // Not those of the doubles, and greater from one to the next as well.
    const address = `172.24.${(made >> 8) & 255}.${made & 255}`;
    changes.push({ address, at: monotonicMs() });
    const body = sliceOf([address, ...rest]);
    writes.push(client.replace(`${SLICES}/${SLICE}`, body, { what: 'change the slice' }));
  }
  await Promise.all(writes);
  await delay(SETTLE_MS);
  stopping.abort();
  await watching;
  await client.close();
  return { changes, told };
}

async function watchDirectly(
  client: KubeClient,
  told: Change[],
  signal: AbortSignal,
): Promise<void> {
  const what = 'watch the slice';
  const query = { fieldSelector: `metadata.name=${SLICE}` };
  let resourceVersion = '';
  for await (const page of client.list<ApiEndpointSlice>(SLICES, { what, ...query })) {
    resourceVersion = page.resourceVersion;
  }
  const options = { what, resourceVersion, timeoutSeconds: 600, idleMs: 600_000, signal };
  try {
    for await (const batch of client.watch(SLICES, options)) {
      for (const { object } of batch) {
        const address = (object as ApiEndpointSlice).endpoints?.[0]?.addresses?.[0];
        if (address !== undefined) told.push({ address, at: monotonicMs() });
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
