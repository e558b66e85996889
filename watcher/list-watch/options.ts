import type { BackoffBounds } from '../../core/backoff.ts';
import type { Logger } from '../../core/logger.ts';
import type { KubeClient } from '../../platform/kube/client.ts';

/** Where one loop is; a sink and `health` see it change. */
export type ReflectorState =
  | { readonly kind: 'listing' }
  /** The server accepted the watch: what happens now arrives. */
  | { readonly kind: 'watching' }
  | {
      readonly kind: 'retrying';
      /** One sentence for a person, without credentials. */
      readonly reason: string;
      /** Milliseconds from when the state was told until the next try. */
      readonly nextTryMs: number;
      /** Failures in a row, 1 at the first. */
      readonly attempt: number;
    }
  /** 404: the server does not serve this kind (its CRD is not there); looked for every 1–5 s. */
  | { readonly kind: 'waiting-for-kind'; readonly reason: string }
  | { readonly kind: 'stopped' };

/**
 * Takes what the loop delivers. Whatever throws or rejects is contained: logged, counted, and made
 * good by a new list.
 */
export interface ReflectorSink<T> {
  /** One page of a list; the loop waits for it (back-pressure). */
  onPage(items: readonly T[]): Promise<void>;
  /** The list is complete: what was not on its pages is gone as of this version. */
  onListed(resourceVersion: string): Promise<void>;
  /** A list that had begun is given up; the next one begins anew. */
  onListAbandoned(): void;
  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
  /** All events of one chunk of the network were given: a good moment to flush. */
  onBatchEnd(): void;
  onState(state: ReflectorState): void;
}

export interface ReflectorOptions<T> {
  readonly client: KubeClient;
  /** Of the collection: `/api/v1/services`. */
  readonly path: string;
  /** The resource, for messages: `services`, or `services of cluster east`. */
  readonly what: string;
  readonly labelSelector?: string;
  readonly sink: ReflectorSink<T>;
  readonly log: Logger;
  /** Numbers in [0, 1); default Math.random. */
  readonly random?: () => number;
  /** Objects a page of a list; default 500. */
  readonly pageSize?: number;
  /** A watch that is silent for longer is taken for dead, ms; default 75,000: bookmarks come every 60 s. */
  readonly idleMs?: number;
  /** A watch lasts so long, in seconds, drawn evenly between the two; default 300 to 600. */
  readonly watchSeconds?: readonly [number, number];
  /** After failures; default 100 ms to 30 s. */
  readonly backoff?: BackoffBounds;
  /**
   * Longest wait while nobody answers, or a 502, 503 or 504 comes, ms; default 5,000: so late at most is
   * it noticed that the server is back. Bounds the Retry-After of such answers as well.
   */
  readonly unreachableCapMs?: number;
  /** While the kind is not served; default 1 s to 5 s. */
  readonly kindPoll?: BackoffBounds;
  /** A watch that stood for so long, in ms, was healthy: failures are forgotten; default 10,000. */
  readonly healthyMs?: number;
}

export interface CompiledOptions<T> extends Required<Omit<ReflectorOptions<T>, 'labelSelector'>> {
  readonly selection: { readonly labelSelector?: string };
}

/** The defaults, filled in once. */
export function compileOptions<T>(options: ReflectorOptions<T>): CompiledOptions<T> {
  const { labelSelector, ...rest } = options;
  return {
    random: Math.random,
    pageSize: 500,
    idleMs: 75_000,
    watchSeconds: [300, 600],
    backoff: { baseMs: 100, capMs: 30_000 },
    unreachableCapMs: 5_000,
    kindPoll: { baseMs: 1_000, capMs: 5_000 },
    healthyMs: 10_000,
    ...rest,
    selection: labelSelector === undefined ? {} : { labelSelector },
  };
}
