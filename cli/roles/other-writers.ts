import type { ApiObject } from '../../core/api-objects.ts';
import { formatKey } from '../../core/object-key.ts';
import { findOtherManagers, type OtherManager } from '../../watcher/other-managers.ts';
import type { Runtime } from './runtime.ts';

/**
 * Tells the owners of Services whose slices somebody else writes as well. At the start a manager whose
 * slices are taken over has them still; later it has none, unless it has not stopped.
 */
export async function warnOfOtherManagers(runtime: Runtime, atStart: boolean): Promise<void> {
  const { client, config, signal } = runtime;
  for (const found of await findOtherManagers(client, config.manager, signal)) {
    if (atStart && config.adopt.includes(found.manager)) continue;
    await warnOf(runtime, found);
  }
}

/** An Event on a Service whose workloads somebody else turns into endpoints as well. */
async function warnOf(runtime: Runtime, found: OtherManager): Promise<void> {
  const { client, config, events, signal } = runtime;
  const { namespace, name } = found.key;
  const path = `/api/v1/namespaces/${namespace}/services/${name}`;
  const what = `get service ${formatKey(found.key)}`;
  const service = await client.get<ApiObject>(path, { what, signal }).catch(() => null);
  const uid = service?.metadata?.uid;
  if (uid === undefined) return;
  events.emit({
    regarding: { apiVersion: 'v1', kind: 'Service', namespace, name, uid },
    type: 'Warning',
    reason: 'SeveralEndpointSliceManagers',
    message: messageOf(found.manager, config),
  });
}

function messageOf(manager: string, config: Pick<Runtime['config'], 'manager' | 'adopt'>): string {
  const who = manager === '' ? 'a writer that names no manager' : manager;
  if (config.adopt.includes(manager)) {
    return `${who} goes on writing EndpointSlices for this Service while ${config.manager} takes them over; stop it, or endpoints are doubled again and again`;
  }
  return `${who} writes EndpointSlices for this Service beside ${config.manager}; endpoints may be doubled or outdated`;
}
