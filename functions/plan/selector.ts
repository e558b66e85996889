import type { Labels, ServiceRecord } from '../../core/records.ts';

/**
 * Why a Service gets no slices of ours, in words; null when it gets them. Slices that it may still
 * have are deleted then: Kubernetes and Linkerd leave them behind, and proxies go on using them.
 */
export function whyNoSlices(service: ServiceRecord | null): string | null {
  if (service === null) return 'the Service does not exist';
  if (service.type === 'ExternalName') return 'the Service is of type ExternalName';
  if (Object.keys(service.selector).length === 0) return 'the Service has no selector';
  return null;
}

/**
 * The first label of the selector that the workload does not carry with the wanted value, null when
 * it carries them all. An empty selector never gets here: it selects nothing (`whyNoSlices`).
 */
export function unmatchedLabel(selector: Labels, labels: Labels): string | null {
  for (const key in selector) {
    if (labels[key] !== selector[key]) return key;
  }
  return null;
}
