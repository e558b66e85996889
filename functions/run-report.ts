import { LockUnknownError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { WORKLOAD_GROUP, WORKLOAD_KIND } from '../core/names.ts';
import { formatKey, type ObjectKey } from '../core/object-key.ts';
import type { LeftOut } from '../core/outcome.ts';
import type { EventInput, EventSink } from '../platform/kube/events.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import { describeProblem, type WriteProblem } from './apply-plan.ts';
import type { RunReport } from './service-run.ts';
import { USUAL } from './settle-problems.ts';

export interface RunReportDeps {
  readonly events: EventSink;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Left-out notices that are remembered so that each is logged once. */
const MAX_NOTICES = 10_000;

/** Tells people what a run left out and what they must solve: once in the log, and by Events. */
export function createRunReport({ events, log, metrics }: RunReportDeps): RunReport {
  const isNew = onceEach(MAX_NOTICES);
  return {
    leftOut: (key, leftOut) => {
      for (const left of leftOut) {
        if (left.reason === 'selector-mismatch') continue;
        const { workload, uid, reason, detail } = left;
        if (isNew(`${key.namespace}/${uid}/${reason}/${detail}`)) {
          log.info({ key: formatKey(key), workload, reason, detail }, 'left out');
        }
        if (left.warn) events.emit(leftOutEvent(key, left));
      }
    },
    problem: (key, service, problem) => {
      if (service === null || isQuiet(problem)) return;
      const { name, uid } = service;
      events.emit({
        regarding: { apiVersion: 'v1', kind: 'Service', namespace: key.namespace, name, uid },
        type: 'Warning',
        reason: 'FailedToUpdateEndpointSlices',
        message: describeProblem(problem),
      });
    },
    viewMissed: (key, why) => {
      metrics.reconcile.viewMissed();
      log.debug({ key: formatKey(key), why }, 'read from the API server instead of the view');
    },
    lockLost: (key) => {
      metrics.reconcile.lockLost();
      log.warn({ key: formatKey(key) }, 'the lock was lost during a run; nothing more was written');
    },
  };
}

/** True for each text the first time, as far as a bounded memory goes. */
function onceEach(limit: number): (text: string) => boolean {
  const told = new Set<string>();
  return (text) => {
    if (told.has(text)) return false;
    if (told.size >= limit) told.clear();
    told.add(text);
    return true;
  };
}

function leftOutEvent({ namespace }: ObjectKey, left: LeftOut): EventInput {
  const { workload: name, uid } = left;
  const apiVersion = `${WORKLOAD_GROUP}/v1beta1`;
  return {
    regarding: { apiVersion, kind: WORKLOAD_KIND, namespace, name, uid },
    type: 'Warning',
    reason: EVENT_REASONS[left.reason],
    message: left.detail,
  };
}

/** What the owner of a Service can do nothing about; a Redis that is away is for the log to tell. */
function isQuiet(problem: WriteProblem): boolean {
  if (problem.kind === 'failed') return problem.error instanceof LockUnknownError;
  return USUAL.has(problem.kind);
}

const EVENT_REASONS: Readonly<Record<LeftOut['reason'], string>> = {
  'selector-mismatch': 'SelectorMismatch',
  'no-address': 'NoAddress',
  'no-address-in-family': 'NoAddressInFamily',
  'address-refused': 'AddressRefused',
  'no-port-resolves': 'NoPortResolves',
  'port-unresolved': 'PortUnresolved',
  'port-name-ambiguous': 'PortNameAmbiguous',
  'hostname-refused': 'HostnameRefused',
};
