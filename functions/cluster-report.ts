import type { ClusterDecision } from '../core/cluster.ts';
import type { Logger } from '../core/logger.ts';
import type { EventSink } from '../platform/kube/events.ts';
import { aboutSecret, type ClusterTransitions } from '../platform/telemetry/cluster-transitions.ts';
import type { ClusterDeps } from './reconcile-cluster.ts';

export interface ClusterReportDeps {
  readonly transitions: ClusterTransitions;
  readonly events: Pick<EventSink, 'emit'>;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const DAY_MS = 86_400_000;
/** Once a credential ends this soon, people are told; the nearest limit is the one that counts. */
const NOTICES = [
  { withinMs: DAY_MS, reason: 'ClusterCredentialEndsWithinADay' },
  { withinMs: 7 * DAY_MS, reason: 'ClusterCredentialEndsWithinAWeek' },
] as const;

/** Tells of transitions, and of credentials that are about to end, each time a Secret was looked at. */
export function createClusterReport(deps: ClusterReportDeps): ClusterDeps['report'] {
  const { transitions } = deps;
  return {
    decided: async (decision) => {
      await transitions.tell(decision);
      warnOfEnd(deps, decision);
    },
    forgotten: (decision, reason) => transitions.tellGone(decision, reason),
  };
}

function warnOfEnd({ events, log, now }: ClusterReportDeps, decision: ClusterDecision): void {
  const end = decision.accepted?.expiresAt ?? null;
  if (end === null) return;
  const leftMs = end - now();
  const notice = NOTICES.find(({ withinMs }) => leftMs <= withinMs);
  // What has ended already is in the decision.
  if (notice === undefined || leftMs <= 0) return;
  const { secret, cluster } = decision;
  const at = `${new Date(end).toISOString().slice(0, 19)}Z`;
  const message = `the credentials of cluster ${cluster} end at ${at}: put new ones into the Secret`;
  log.warn({ secret, cluster, expiresAt: end }, message);
  events.emit(aboutSecret(decision, 'Warning', notice.reason, message));
}
