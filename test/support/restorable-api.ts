import type { KubeClient, ListPage, WatchEvent } from '../../platform/kube/client.ts';

/** The real API server, as one whose etcd can be restored from a backup. */
export interface RestorableApi {
  readonly client: KubeClient;
  /**
   * What the API server has is what was in the backup. Versions go back, but for `bumped`: then what comes
   * from now on is newer than all that there was. Watches that stand already stay silent.
   */
  restore(how?: 'bumped'): void;
}

/** So far the versions were ahead of those that the server really gives. */
const AHEAD = 10n ** 9n;

/** Of Services and workloads: slices are written, so that theirs must be what the server has. */
const MOVED = /(services|externalworkloads)$/;

/** Before the restore all versions are ahead; after it they are what the server really gives. */
export function restorable(client: KubeClient): RestorableApi {
  /** Added to the versions of objects in lists; to those of lists, events and watches. */
  let stored = AHEAD;
  let current = AHEAD;
  let life = 1;
  const behind: KubeClient = {
    ...client,
    list: async function* <T>(path: string, options: Parameters<KubeClient['list']>[1]) {
      for await (const page of client.list<T>(path, options)) {
        yield MOVED.test(path) ? shiftPage(page, stored, current) : page;
      }
    },
    watch: async function* (path, options) {
      const begun = life;
      const moved = MOVED.test(path);
      const from = moved ? shift(options.resourceVersion, -current) : options.resourceVersion;
      for await (const batch of client.watch(path, { ...options, resourceVersion: from })) {
        if (begun !== life) continue;
        yield moved ? batch.map((event) => shiftEvent(event, current)) : batch;
      }
    },
  };
  return {
    client: behind,
    restore: (how) => {
      life += 1;
      stored = 0n;
      current = how === 'bumped' ? 2n * AHEAD : 0n;
    },
  };
}

function shift(version: string, by: bigint): string {
  return String(BigInt(version) + by);
}

interface Versioned {
  readonly metadata?: { readonly resourceVersion?: string };
}

function shiftObject<T>(object: T, by: bigint): T {
  const { metadata } = object as Versioned;
  const { resourceVersion = '0' } = metadata ?? {};
  return { ...object, metadata: { ...metadata, resourceVersion: shift(resourceVersion, by) } };
}

function shiftPage<T>(page: ListPage<T>, stored: bigint, current: bigint): ListPage<T> {
  return {
    ...page,
    resourceVersion: shift(page.resourceVersion, current),
    items: page.items.map((item) => shiftObject(item, stored)),
  };
}

function shiftEvent(event: WatchEvent, by: bigint): WatchEvent {
  if (event.type === 'ERROR') return event;
  return { ...event, object: shiftObject(event.object, by) };
}
