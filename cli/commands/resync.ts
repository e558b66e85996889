import type { ApiService } from '../../core/api-objects.ts';
import { namespacePredicate } from '../../core/namespace-filter.ts';
import type { ObjectKey } from '../../core/object-key.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { PATHS } from '../../platform/kube/endpoint-api.ts';
import type { CommandInput, Io } from '../command.ts';
import { withKube, withQueue } from '../roles/clients.ts';

/** `tether resync`: enqueues every Service of the cluster at low priority. */
export async function run({ config }: CommandInput, io: Io): Promise<number> {
  const accepts = namespacePredicate({
    include: config.includeNamespaces,
    exclude: config.excludeNamespaces,
  });
  const all = await withKube(config, (client) => listServices(client, io.signal));
  const keys = all.filter(({ namespace }) => accepts(namespace));
  const at = Date.now();
  await withQueue(config, 'service', (queue) =>
    queue.addResync(keys.map((key) => ({ key, reason: 'resync on the command line', at }))),
  );
  io.out(`enqueued ${keys.length} Services`);
  return 0;
}

async function listServices(client: KubeClient, signal: AbortSignal): Promise<ObjectKey[]> {
  const keys: ObjectKey[] = [];
  const what = 'list services';
  for await (const page of client.list<ApiService>(PATHS.service, { what, signal })) {
    if (page.restarted) keys.length = 0;
    for (const { metadata } of page.items) {
      keys.push({ namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' });
    }
  }
  return keys;
}
