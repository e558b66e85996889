import { describeError } from '../../core/errors.ts';
import type { World } from '../world.ts';
import type { AgentApi, AgentMessage, AgentRequest } from './api.ts';
import { churn } from './churn.ts';
import { writeDirectly } from './direct-writes.ts';
import { listBytes } from './list-bytes.ts';
import { loadWorld } from './load.ts';
import { startObserver, type Observer } from './observer.ts';
import { openRawClient, type RawClient } from './raw-client.ts';

// A process of its own, forked by agent/client.ts; it ends when its parent does, however that ends.

let kubeconfig = '';
let openClient: RawClient | undefined;
let watched: { readonly world: World; readonly observer: Observer } | undefined;

function tell(message: AgentMessage): void {
  process.send?.(message);
}

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
  load: (world, writers) => loadWorld(client(), world, writers, (progress) => tell({ progress })),
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

async function answer({ id, call, args }: AgentRequest): Promise<void> {
  try {
    // The parent's side is typed by the same interface.
    const method = api[call] as (...args: readonly unknown[]) => Promise<unknown>;
    tell({ id, result: (await method(...args)) ?? null });
  } catch (error) {
    tell({ id, error: describeError(error) });
  }
}

process.on('message', (request) => void answer(request as AgentRequest));
process.on('disconnect', () => process.exit(0));
// Ctrl-C in a terminal reaches every process of it: the parent decides when this one ends.
process.on('SIGINT', () => undefined);
