import { setTimeout as delay } from 'node:timers/promises';
import type { ApiEndpointSlice, ApiService } from '../../core/api-objects.ts';
import { ApiError, InvalidInputError } from '../../core/errors.ts';
import { LABEL_SERVICE_NAME, WORKLOAD_KIND } from '../../core/names.ts';
import { formatKey, parseKey, type ObjectKey } from '../../core/object-key.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import type { CommandInput, Io } from '../command.ts';
import { CommandError } from '../failures.ts';
import { withKube } from '../roles/clients.ts';
import { setReady, type ReadyState } from '../workload-status.ts';

const STATES: Readonly<Record<'ready' | 'unready' | 'drain', ReadyState>> = {
  ready: { status: 'True', reason: 'SetReady', message: 'set by tether workload ready' },
  unready: { status: 'False', reason: 'SetUnready', message: 'set by tether workload unready' },
  drain: { status: 'False', reason: 'Draining', message: 'set by tether workload drain' },
};
const WORDS = { ready: 'ready', unready: 'not ready', drain: 'draining' } as const;
const DRAIN_TIMEOUT_S = 60;
const POLL_MS = 500;

/** `workload ready|unready|drain NS/NAME`: sets the Ready condition; `drain` waits for its effect. */
export function run({ command, config, args, flags }: CommandInput, io: Io): Promise<number> {
  const action = actionOf(command);
  const key = parseKey(args['key'] ?? '');
  const timeoutMs = timeoutOf(flags['timeout']);
  return withKube(config, async (client) => {
    const { changed, uid } = await setReady(client, key, STATES[action], io.signal);
    const already = changed ? '' : 'already ';
    io.out(`externalworkload ${formatKey(key)}: ${already}${WORDS[action]}`);
    if (action === 'drain') await untilDrained(client, key, uid, timeoutMs, io);
    return 0;
  });
}

function actionOf(command: string): keyof typeof STATES {
  const word = command.split(' ')[1];
  if (word === 'ready' || word === 'unready' || word === 'drain') return word;
  throw new TypeError(`no such command: ${command}`);
}

function timeoutOf(flag: string | boolean | undefined): number {
  const text = typeof flag === 'string' ? flag : String(DRAIN_TIMEOUT_S);
  const value = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  if (value >= 0) return value * 1000;
  throw new InvalidInputError(
    'timeout',
    `--timeout ${JSON.stringify(text)}: expected whole seconds`,
  );
}

/** An EndpointSlice that still sends traffic to a workload. */
interface Offer {
  readonly slice: string;
  readonly service: string;
}

/**
 * Waits until no EndpointSlice offers the workload as ready. Services that publish not-ready
 * addresses never stop to: they are named, and not waited for.
 *
 * @throws CommandError with the slices that are left when the time is over.
 */
async function untilDrained(
  client: KubeClient,
  key: ObjectKey,
  uid: string,
  timeoutMs: number,
  io: Io,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  const publishers = new Set<string>();
  for (;;) {
    const offers = await offersOf(client, key, uid, io.signal);
    for (const service of new Set(offers.map((offer) => offer.service))) {
      if (publishers.has(service)) continue;
      if (!(await publishesNotReady(client, key.namespace, service, io.signal))) continue;
      publishers.add(service);
      io.out(
        `service ${key.namespace}/${service} publishes not-ready addresses: it goes on offering it`,
      );
    }
    const left = offers.filter(({ service }) => !publishers.has(service));
    if (left.length === 0) {
      io.out(
        `externalworkload ${formatKey(key)}: drained, no ${publishers.size > 0 ? 'other ' : ''}EndpointSlice offers it`,
      );
      return;
    }
    if (performance.now() > deadline) throw stillOffered(key, left, timeoutMs);
    await delay(POLL_MS, undefined, { signal: io.signal });
  }
}

function stillOffered(key: ObjectKey, left: readonly Offer[], timeoutMs: number): CommandError {
  const names = left.map(({ slice, service }) => `${slice} (of ${service})`).join(', ');
  return new CommandError(
    `externalworkload ${formatKey(key)} is marked as draining, but after ${timeoutMs / 1000} s these ` +
      `EndpointSlices still offer it: ${names}. Does a worker run (tether status)?`,
  );
}

async function offersOf(
  client: KubeClient,
  key: ObjectKey,
  uid: string,
  signal: AbortSignal,
): Promise<readonly Offer[]> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${key.namespace}/endpointslices`;
  const what = `list endpointslices in namespace ${key.namespace}`;
  const offers: Offer[] = [];
  for await (const page of client.list<ApiEndpointSlice>(path, {
    what,
    signal,
    labelSelector: LABEL_SERVICE_NAME,
  })) {
    if (page.restarted) offers.length = 0;
    for (const { metadata, endpoints } of page.items) {
      if (!endpoints?.some((endpoint) => isOffered(endpoint, key, uid))) continue;
      const service = metadata?.labels?.[LABEL_SERVICE_NAME] ?? '';
      offers.push({ slice: metadata?.name ?? '', service });
    }
  }
  return offers;
}

/** A condition that is not stated counts as ready (discovery.k8s.io/v1). */
function isOffered(
  { targetRef, conditions }: NonNullable<ApiEndpointSlice['endpoints']>[number],
  key: ObjectKey,
  uid: string,
): boolean {
  if (targetRef?.kind !== WORKLOAD_KIND || targetRef.name !== key.name) return false;
  return (targetRef.uid ?? uid) === uid && conditions?.ready !== false;
}

async function publishesNotReady(
  client: KubeClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}/services/${name}`;
  try {
    const what = `get service ${namespace}/${name}`;
    const service = await client.get<ApiService>(path, { what, signal });
    return service.spec?.publishNotReadyAddresses === true;
  } catch (error) {
    // Its slices are on their way out.
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
