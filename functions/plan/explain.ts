import type { LeftOut } from '../../core/outcome.ts';
import type { EndpointPortRecord, ServiceRecord, WorkloadRecord } from '../../core/records.ts';
import { conditionsOf } from './endpoint.ts';
import { selectorMismatch } from './left-out.ts';
import { unmatchedLabel, whyNoSlices } from './selector.ts';
import { compareText } from './text.ts';
import type { PlanOptions } from './types.ts';
import { compileService, judgeWorkload, type CompiledService } from './workload.ts';

/** What becomes of one workload in the slices of one Service. */
export interface WorkloadExplanation {
  readonly workload: string;
  readonly uid: string;
  /** Whether the Service's slices have an endpoint of it, ready or not. */
  readonly included: boolean;
  readonly ready: boolean;
  /** Canonical, of the families that the Service wants. */
  readonly addresses: readonly string[];
  readonly ports: readonly EndpointPortRecord[];
  /** What of it is left out, in the words of plans and Events. */
  readonly leftOut: readonly LeftOut[];
  /** All of it for a person: `in, ready: 10.0.0.1 at 8080/TCP` or `out: ...`. */
  readonly summary: string;
}

export interface ServiceExplanation {
  /** Null when the Service gets slices of ours. */
  readonly noSlicesBecause: string | null;
  /** One for each workload, by name. */
  readonly workloads: readonly WorkloadExplanation[];
}

/**
 * Says for each workload of a Service's namespace whether it is in the Service's slices, and why
 * (not), by the very functions that plan them. Never throws for what the objects say.
 */
export function explainService(
  service: ServiceRecord | null,
  workloads: readonly WorkloadRecord[],
  options: PlanOptions,
): ServiceExplanation {
  const noSlicesBecause = whyNoSlices(service);
  const sorted = workloads.toSorted((a, b) => compareText(a.name, b.name));
  if (service === null || noSlicesBecause !== null) {
    return {
      noSlicesBecause,
      workloads: sorted.map((each) => out(each, [], `${noSlicesBecause}`)),
    };
  }
  const compiled = compileService(service, options);
  return { noSlicesBecause, workloads: sorted.map((each) => explainWorkload(compiled, each)) };
}

function explainWorkload(compiled: CompiledService, workload: WorkloadRecord): WorkloadExplanation {
  const { service, families, options } = compiled;
  const label = unmatchedLabel(service.selector, workload.labels);
  if (label !== null) return out(workload, [selectorMismatch(workload, service, label)]);
  const { addresses, portMap, leftOut } = judgeWorkload(compiled, workload);
  if (portMap === null) return out(workload, leftOut);
  const conditions = conditionsOf(service, workload, options.workloadsWithoutStatus);
  const texts = families.flatMap((family) => addresses[family]);
  const state = conditions.ready
    ? 'in, ready'
    : `in, not ready (${whyNotReady(workload, conditions.serving)})`;
  const where = [texts.join(' and '), describePorts(portMap.ports)].filter((part) => part !== '');
  return {
    workload: workload.name,
    uid: workload.uid,
    included: true,
    ready: conditions.ready,
    addresses: texts,
    ports: portMap.ports,
    leftOut,
    summary: [`${state}: ${where.join(' at ')}`, ...leftOut.map(({ detail }) => detail)].join('. '),
  };
}

function out(
  { name, uid }: WorkloadRecord,
  leftOut: readonly LeftOut[],
  because = leftOut.map(({ detail }) => detail).join(' '),
): WorkloadExplanation {
  return {
    workload: name,
    uid,
    included: false,
    ready: false,
    addresses: [],
    ports: [],
    leftOut,
    summary: `out: ${because}`,
  };
}

function describePorts(ports: readonly EndpointPortRecord[]): string {
  return ports
    .map(({ name, port, protocol }) => `${name === '' ? '' : `${name} `}${port}/${protocol}`)
    .join(', ');
}

/** Only asked of a workload that is not ready: deletion is what is left. */
function whyNotReady({ ready }: WorkloadRecord, serving: boolean): string {
  if (serving) return 'it is being deleted';
  return ready === null ? 'it has no Ready condition' : 'its Ready condition is not True';
}
