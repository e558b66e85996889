import { eventually } from './eventually.ts';
import { apiOk } from './api.ts';

interface SeenEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly name: string };
  readonly reportingComponent?: string;
}

/** `REASON OBJECT` of each Warning Event about an object of the namespace, sorted, each once. */
export async function warningsIn(namespace: string): Promise<string[]> {
  const lines = (await warningEvents(namespace))
    // Which other managers there are is another test's doing.
    .filter(({ reason }) => reason !== 'SeveralEndpointSliceManagers')
    .map(({ reason, involvedObject }) => `${reason} ${involvedObject.name}`);
  return [...new Set(lines)].sort();
}

/** Waits for a Warning Event of this reason about an object whose message has this text. */
export function warned(
  namespace: string,
  object: string,
  reason: string,
  text: string,
): Promise<void> {
  return eventually(async () => {
    const found = (await warningEvents(namespace)).filter(
      (event) => event.involvedObject.name === object && event.reason === reason,
    );
    const messages = found.map(({ message }) => message);
    if (messages.some((message) => message.includes(text))) return;
    throw new Error(`no ${reason} of ${object} says "${text}", but ${JSON.stringify(messages)}`);
  });
}

async function warningEvents(namespace: string): Promise<SeenEvent[]> {
  const list = await apiOk('GET', `/api/v1/namespaces/${namespace}/events`);
  const { items } = list as { readonly items: readonly SeenEvent[] };
  // A busy API server, too, warns of a Service: its repair of cluster IPs came before the allocation.
  return items.filter(
    ({ type, reportingComponent }) =>
      type === 'Warning' && !reportingComponent?.startsWith('ipallocator'),
  );
}
