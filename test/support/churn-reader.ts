import { expect } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
import { createKubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { apiOk } from './api.ts';
import { eventually } from './eventually.ts';
import { slicesPath } from './objects.ts';
import { fromRun } from './run.ts';

/** Sees every state that the slices of a namespace pass through, as kube-proxy does. */
export interface SliceReader {
  /**
   * Addresses that were not ready at some moment since `expectAlways`, with the event after which;
   * what was taken is not told again.
   */
  takeMissing(): readonly string[];
  /**
   * Addresses that a Service had twice at some moment, with the event after which; what was taken is not
   * told again. An endpoint that moves to another slice is there twice on purpose, for a moment.
   */
  takeDoubled(): readonly string[];
  /** Events seen so far. */
  readonly events: number;
  /** What happened to a slice: `ADDED`, `MODIFIED`, `DELETED`. */
  eventsOf(slice: string): readonly string[];
  /** From now on each of these must be ready in every state. */
  expectAlways(addresses: readonly string[]): void;
  /** Waits until everything up to now was seen. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts reading the slices of a namespace as they are now. */
export async function startSliceReader(namespace: string): Promise<SliceReader> {
  const access = await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} });
  const client = createKubeClient(access);
  const path = slicesPath(namespace);
  const list = (await apiOk('GET', path)) as {
    readonly metadata: { readonly resourceVersion: string };
    readonly items: readonly ApiEndpointSlice[];
  };
  const slices = new Map(list.items.map((slice) => [slice.metadata?.name, slice]));
  const stopping = new AbortController();
  const missing: string[] = [];
  const doubled: string[] = [];
  const told: (readonly [slice: string, type: string])[] = [];
  const state = { events: 0, always: [] as readonly string[] };
  const take = (type: string, slice: ApiEndpointSlice): void => {
    const name = slice.metadata?.name;
    if (type === 'DELETED') slices.delete(name);
    else slices.set(name, slice);
    state.events += 1;
    told.push([name ?? '', type]);
    doubled.push(...doubledAddresses(slices.values()).map((one) => `${one} after ${type} ${name}`));
    const ready = readyAddresses(slices.values());
    const gone = state.always.filter((address) => !ready.has(address));
    missing.push(...gone.map((address) => `${address} after ${type} ${name}`));
  };
  const follow = async (): Promise<void> => {
    const batches = client.watch(path, {
      what: `watch endpointslices of ${namespace}`,
      resourceVersion: list.metadata.resourceVersion,
      timeoutSeconds: 600,
      idleMs: 600_000,
      signal: stopping.signal,
    });
    for await (const batch of batches) {
      for (const { type, object } of batch) {
        if (type !== 'BOOKMARK') take(type, object as ApiEndpointSlice);
      }
    }
  };
  const done = follow().catch((error: unknown) => {
    if (!stopping.signal.aborted) missing.push(`the reader itself failed: ${String(error)}`);
  });
  return {
    takeMissing: () => missing.splice(0),
    takeDoubled: () => doubled.splice(0),
    eventsOf: (slice) => told.flatMap(([name, type]) => (name === slice ? [type] : [])),
    get events() {
      return state.events;
    },
    expectAlways: (addresses) => {
      state.always = addresses;
    },
    caughtUp: async () => {
      const mark = (await apiOk('POST', path, {
        metadata: { generateName: 'mark-' },
        addressType: 'IPv4',
        endpoints: [],
        ports: [],
      })) as ApiEndpointSlice;
      await eventually(() => expect(slices.has(mark.metadata?.name)).toBe(true));
      await apiOk('DELETE', slicesPath(namespace, mark.metadata?.name));
    },
    stop: async () => {
      stopping.abort();
      await done;
      await client.close();
    },
  };
}

/** `SERVICE: ADDRESS` of each that is in a Service's slices more than once. */
function doubledAddresses(slices: Iterable<ApiEndpointSlice>): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { metadata, endpoints } of slices) {
    const service = metadata?.labels?.[LABEL_SERVICE_NAME];
    for (const { addresses = [] } of endpoints ?? []) {
      for (const address of addresses) {
        const one = `${service}: ${address}`;
        if (seen.has(one)) twice.add(one);
        seen.add(one);
      }
    }
  }
  return [...twice];
}

function readyAddresses(slices: Iterable<ApiEndpointSlice>): ReadonlySet<string> {
  const ready = new Set<string>();
  for (const { endpoints } of slices) {
    // An empty list comes as null.
    for (const { addresses = [], conditions } of endpoints ?? []) {
      if (conditions?.ready === true) for (const address of addresses) ready.add(address);
    }
  }
  return ready;
}
