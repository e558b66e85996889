import { setTimeout as delay } from 'node:timers/promises';
import type { ApiEndpointSlice, ApiExternalWorkload, ApiObject } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { apiOk } from './api.ts';
import { nameOf, servicePath, slicesOf, slicesPath, workloadPath } from './objects.ts';

/** As Linkerd's controller calls itself in the managed-by label. */
export const LINKERD = 'linkerd-external-workloads-controller';

/**
 * Makes the slice that Linkerd's external-workload controller makes of these workloads: its labels, owner
 * and kind of name, addresses as they are written, port http at 8080.
 */
export async function createLinkerdSlice(
  namespace: string,
  service: string,
  workloads: readonly string[],
  addressType: 'IPv4' | 'IPv6' = 'IPv4',
): Promise<ApiEndpointSlice> {
  const owner = (await apiOk('GET', servicePath(namespace, service))) as ApiObject;
  const endpoints = [];
  for (const name of workloads) {
    const read = await apiOk('GET', workloadPath(namespace, name));
    endpoints.push(endpointOf(read as ApiExternalWorkload, addressType));
  }
  return (await apiOk('POST', slicesPath(namespace), {
    metadata: {
      generateName: `linkerd-external-${service}-`,
      labels: { [LABEL_SERVICE_NAME]: service, [LABEL_MANAGED_BY]: LINKERD },
      annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
      ownerReferences: [
        {
          apiVersion: 'v1',
          kind: 'Service',
          name: service,
          uid: owner.metadata?.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    addressType,
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints,
  })) as ApiEndpointSlice;
}

function endpointOf(workload: ApiExternalWorkload, addressType: 'IPv4' | 'IPv6'): object {
  const { namespace, name, uid } = workload.metadata ?? {};
  const ips = (workload.spec?.workloadIPs ?? []).map(({ ip }) => ip ?? '');
  const serving = (workload.status?.conditions ?? []).some(({ status }) => status === 'True');
  return {
    addresses: ips.filter((ip) => ip.includes(':') === (addressType === 'IPv6')),
    conditions: { ready: serving, serving, terminating: false },
    targetRef: { kind: 'ExternalWorkload', namespace, name, uid },
  };
}

/** The controller as far as one Service goes: it makes a slice whenever it has none. */
export interface LinkerdController {
  /** Names of the slices that it has made. */
  readonly made: readonly string[];
  stop(): Promise<void>;
}

export function startLinkerdController(
  namespace: string,
  service: string,
  workloads: readonly string[],
): LinkerdController {
  const made: string[] = [];
  const state = { stopped: false };
  const run = async (): Promise<void> => {
    while (!state.stopped) {
      const there = await slicesOf(namespace, service, LINKERD);
      if (there.length === 0) {
        made.push(nameOf(await createLinkerdSlice(namespace, service, workloads)));
      }
      await delay(PACE_MS);
    }
  };
  const running = run();
  running.catch(() => undefined);
  return {
    made,
    stop: async () => {
      state.stopped = true;
      await running;
    },
  };
}

/** Between two looks, ms: not to wait for anything, but to leave the machine some air. */
const PACE_MS = 20;
