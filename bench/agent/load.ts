import { monotonicMs } from '../clock.ts';
import {
  backingBody,
  backingName,
  backingPath,
  firstStatus,
  NODE_NAME,
  readiness,
  readinessPatchType,
  serviceBody,
  servicesPath,
  type World,
} from '../world.ts';
import { inParallel } from './parallel.ts';
import type { RawClient } from './raw-client.ts';

const JSON_TYPE = 'application/json';
const EXISTS = 409;
const PROGRESS_EVERY_MS = 5_000;

/** How the loading went. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
}

/** Creates all objects of a world; `progress` gets a line now and then. */
export async function loadWorld(
  client: RawClient,
  world: World,
  writers: number,
  progress: (line: string) => void,
): Promise<LoadResult> {
  const from = monotonicMs();
  const total = world.namespaces + world.services + world.services * world.per;
  const tell = progressTeller(total, from, progress);
  let requests = 0;
  const post = (path: string, body: object): Promise<void> => {
    requests += 1;
    return client.send(creation(path, body));
  };
  await inParallel(world.namespaces, writers, async (at) => {
    await post('/api/v1/namespaces', { metadata: { name: `${world.prefix}-${at}` } });
    tell();
  });
  if (world.backing === 'pods') await post('/api/v1/nodes', { metadata: { name: NODE_NAME } });
  await inParallel(world.services, writers, async (service) => {
    await post(servicesPath(world, service), serviceBody(service));
    tell();
  });
  await inParallel(world.services * world.per, writers, async (at) => {
    const [service, nth] = [Math.floor(at / world.per), at % world.per];
    await post(backingPath(world, service), backingBody(world, service, nth));
    if (world.withStatus) {
      requests += 1;
      await patchStatus(client, world, { service, nth }, firstStatus(world, service, nth));
    }
    tell();
  });
  return { requests, seconds: (monotonicMs() - from) / 1000 };
}

/** Says whether a backing object is ready, as whoever watches over a VM would. */
export async function setReady(
  client: RawClient,
  world: World,
  at: { readonly service: number; readonly nth: number },
  ready: boolean,
): Promise<void> {
  await patchStatus(client, world, at, readiness(ready));
}

function patchStatus(
  client: RawClient,
  world: World,
  { service, nth }: { readonly service: number; readonly nth: number },
  patch: object,
): Promise<void> {
  return client.send({
    method: 'PATCH',
    path: `${backingPath(world, service)}/${backingName(service, nth)}/status`,
    type: readinessPatchType(world),
    body: JSON.stringify(patch),
  });
}

function creation(path: string, body: object) {
  const type = JSON_TYPE;
  return { method: 'POST', path, type, body: JSON.stringify(body), also: EXISTS } as const;
}

function progressTeller(total: number, from: number, progress: (line: string) => void): () => void {
  let done = 0;
  let toldAt = from;
  return () => {
    done += 1;
    const now = monotonicMs();
    if (now - toldAt < PROGRESS_EVERY_MS) return;
    toldAt = now;
    const rate = Math.round(done / ((now - from) / 1000));
    progress(`loaded ${done} of ${total} objects (${rate}/s)`);
  };
}
