import type { WatchReport } from '../../platform/redis/clusters/registry.ts';
import type { GenerationWatch } from './generation-watch.ts';
import type { WatchHealth } from './kind-watch.ts';

/** What an owner knows of its cluster at one moment. */
export interface OwnerState {
  readonly cluster: string;
  /** The generation that look-ups read; 0: none. */
  readonly serving: number;
  /** The generation of the content that is to be watched; 0: any. */
  readonly wanted: number;
  /** Watches what serves. */
  readonly current: GenerationWatch | null;
  /** Is being brought in sync beside it. */
  readonly next: GenerationWatch | null;
}

const NOT_WATCHED = 'what is served is watched no longer; the present content is being listed';
const NOT_ANSWERED = 'the cluster does not answer; its lists and watches are being begun anew';

const UNWATCHED: WatchHealth = {
  inSync: false,
  healthy: false,
  reason: '',
  attempts: 0,
  nextTryAt: null,
};

/** As the registry wants it, but for the owner's name; `nextTryAt` by this process' clock. */
export function reportOf(state: OwnerState): Omit<WatchReport, 'owner'> {
  const { cluster, serving, wanted } = state;
  const current = state.current?.health() ?? UNWATCHED;
  const next = state.next?.health() ?? UNWATCHED;
  return {
    cluster,
    serving,
    working: (state.next ?? state.current)?.generation ?? wanted,
    healthy: current.healthy,
    inSync: current.inSync,
    reason: serving > 0 ? reasonWhileServing(state, current, next) : next.reason,
    attempts: Math.max(current.attempts, next.attempts),
    nextTryAt: current.nextTryAt ?? next.nextTryAt,
    objects: state.current?.objects ?? 0,
  };
}

function reasonWhileServing(state: OwnerState, current: WatchHealth, next: WatchHealth): string {
  if (state.current === null) return next.reason === '' ? NOT_WATCHED : next.reason;
  if (!current.healthy) return current.reason === '' ? NOT_ANSWERED : current.reason;
  if (next.reason === '') return '';
  return `the Secret's new content does not come in sync, so the one before it stays: ${next.reason}`;
}
