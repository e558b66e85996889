import type { World } from '../world.ts';
import type { AgentApi } from './api.ts';
import { churn } from './churn.ts';
import { writeDirectly } from './direct-writes.ts';
import { listBytes } from './list-bytes.ts';
import { loadWorld } from './load.ts';
import { startObserver, type Observer } from './observer.ts';
import { openRawClient, type RawClient } from './raw-client.ts';
import { serveApi, tellProgress } from './rpc.ts';

// A process of its own, forked by agent/client.ts.

let kubeconfig = '';
let openClient: RawClient | undefined;
let watched: { readonly world: World; readonly observer: Observer } | undefined;

function client(): RawClient {
  if (openClient === undefined) throw new Error('open comes first');
  return openClient;
}

function watching(): { readonly world: World; readonly observer: Observer } {
  if (watched === undefined) throw new Error('observe comes first');
  return watched;
}

const api: AgentApi = {
  open: async (path, connections) => {
    kubeconfig = path;
    openClient = await openRawClient(path, connections);
  },
  load: (world, writers) => loadWorld(client(), world, writers, tellProgress),
  observe: async (world) => {
    await watched?.observer.close();
    watched = { world, observer: await startObserver(kubeconfig, world) };
  },
  untilRight: async (timeoutMs) => {
    const { observer } = watching();
    const rightAt = await observer.untilRight(timeoutMs);
    return { firstAt: observer.firstAt ?? rightAt, rightAt, writes: observer.writes };
  },
  churn: (plan) => churn(client(), watching().world, watching().observer, plan),
  writeDirectly: (world, share) => writeDirectly(client(), world, share),
  listBytes: (paths) => listBytes(client(), paths),
  read: async (path) => (await client().read({ method: 'GET', path })).toString(),
};

serveApi(api);
