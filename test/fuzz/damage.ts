import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import type { Action, Edit, Target } from './schedule/steps.ts';
import { MANAGER } from './stage.ts';
import { nameOf } from './world.ts';

type DamageAction = Extract<Action, { readonly do: 'damage' }>;
type Endpoints = NonNullable<ApiEndpointSlice['endpoints']>;

const SOMEBODY = 'somebody.example.com';

/** Changes a slice by hand, as people and their scripts do; nothing where there is none. */
export async function damage(client: KubeClient, action: DamageAction): Promise<void> {
  const { how, target } = action;
  const path = `/apis/discovery.k8s.io/v1/namespaces/${target.namespace}/endpointslices`;
  const what = `damage (${how}) a slice of ${target.namespace}/${target.name}`;
  if (how === 'foreign slice') {
    await client.create(path, foreignSlice(target, action.pick), { what });
    return;
  }
  const manager = how === 'delete foreign slice' ? SOMEBODY : MANAGER;
  const slices = await slicesOf(client, path, target, manager);
  const slice = slices[action.pick % slices.length];
  if (slice === undefined) return;
  const own = `${path}/${nameOf(slice)}`;
  if (how === 'delete' || how === 'delete foreign slice') {
    await client.delete(own, undefined, { what });
  } else if (how === 'copy' || how === 'copy without owner') {
    await client.create(path, copyOf(slice, how === 'copy'), { what });
  } else {
    await client.replace(own, changed(slice, how, action.pick), { what });
  }
}

async function slicesOf(
  client: KubeClient,
  path: string,
  { name }: Target,
  manager: string,
): Promise<ApiEndpointSlice[]> {
  const labelSelector = `${LABEL_SERVICE_NAME}=${name},${LABEL_MANAGED_BY}=${manager}`;
  const options = { what: `list slices of ${name}`, query: { labelSelector } };
  const { items } = await client.get<{ readonly items: ApiEndpointSlice[] }>(path, options);
  return items.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** The whole slice as it would be sent back. */
function changed(slice: ApiEndpointSlice, how: Edit, pick: number): ApiEndpointSlice {
  const endpoints = slice.endpoints ?? [];
  const at = pick % Math.max(1, endpoints.length);
  switch (how) {
    case 'drop an endpoint':
      return { ...slice, endpoints: endpoints.toSpliced(at, 1) };
    case 'add an endpoint':
      return { ...slice, endpoints: [...endpoints, stranger(slice, pick)] };
    case 'unready an endpoint':
      return {
        ...slice,
        endpoints: endpoints.map((one, nth) => (nth === at ? unready(one) : one)),
      };
    case 'change the ports':
      return { ...slice, ports: [{ name: 'hand', port: 4242, protocol: 'TCP' }] };
    case 'change a label':
      return relabelled(slice, 'team', 'hand');
    case 'add a label':
      return relabelled(slice, 'by', 'hand');
    case 'move to another Service':
      return relabelled(slice, LABEL_SERVICE_NAME, pick % 2 === 0 ? 'web' : 'nowhere');
    case 'give away':
      return relabelled(slice, LABEL_MANAGED_BY, SOMEBODY);
  }
}

function stranger({ addressType }: ApiEndpointSlice, pick: number): Endpoints[number] {
  const address = addressType === 'IPv6' ? `2001:db8:ffff::${pick + 1}` : `198.19.0.${pick + 1}`;
  return { addresses: [address], conditions: { ready: true } };
}

function unready(endpoint: Endpoints[number]): Endpoints[number] {
  return { ...endpoint, conditions: { ready: false, serving: false, terminating: false } };
}

function relabelled(slice: ApiEndpointSlice, label: string, value: string): ApiEndpointSlice {
  const labels = { ...slice.metadata?.labels, [label]: value };
  return { ...slice, metadata: { ...slice.metadata, labels } };
}

function copyOf(slice: ApiEndpointSlice, owned: boolean): object {
  const { labels, ownerReferences } = slice.metadata ?? {};
  const metadata = { generateName: 'copy-', labels, ...(owned ? { ownerReferences } : {}) };
  return { ...slice, metadata };
}

/** Of another controller, for the same Service. */
function foreignSlice({ name }: Target, pick: number): object {
  return {
    metadata: {
      generateName: 'foreign-',
      labels: { [LABEL_SERVICE_NAME]: name, [LABEL_MANAGED_BY]: SOMEBODY },
    },
    addressType: 'IPv4',
    endpoints: [stranger({ addressType: 'IPv4' }, pick)],
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  };
}
