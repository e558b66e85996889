import { LABEL_HEADLESS, LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import type { Labels, ServiceRecord } from '../../core/records.ts';

const RESERVED: ReadonlySet<string> = new Set([
  LABEL_SERVICE_NAME,
  LABEL_MANAGED_BY,
  LABEL_HEADLESS,
]);

/**
 * The labels of a Service's slices: the Service's own, except the three that say what a slice is.
 * Those are computed, whatever the Service claims. A Service counts as headless here when it has no
 * cluster IP at all, as in k8s.io/endpointslice (Linkerd looks for `None` alone).
 */
export function sliceLabels(service: ServiceRecord, manager: string): Labels {
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(service.labels)) {
    if (!RESERVED.has(key)) labels[key] = value;
  }
  labels[LABEL_SERVICE_NAME] = service.name;
  labels[LABEL_MANAGED_BY] = manager;
  if (service.clusterIP === 'None' || service.clusterIP === '') labels[LABEL_HEADLESS] = '';
  return labels;
}

/**
 * Whole maps, both ways: a label that the Service lost has to leave the slice too (Linkerd only
 * looks for missing ones, and a stale `service-proxy-name` keeps kube-proxy away for good).
 */
export function sameLabels(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
