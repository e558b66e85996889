import { LABEL_MANAGED_BY } from './names.ts';

/** Whose EndpointSlices are in our hands. */
export interface SliceManagers {
  /** The value of the managed-by label that slices of ours carry. */
  readonly manager: string;
  /** Other managers whose slices are taken over; sorted. */
  readonly adopt: readonly string[];
}

/**
 * Kubernetes' own controllers: for Pods, and for Endpoints that people write by hand. They are there to
 * stay, beside us, so that nobody may take their slices over.
 */
export const KUBERNETES_MANAGERS: readonly string[] = [
  'endpointslice-controller.k8s.io',
  'endpointslicemirroring-controller.k8s.io',
];

/** Picks the slices of ours, and those that are taken over. */
export function managedBySelector({ manager, adopt }: SliceManagers): string {
  if (adopt.length === 0) return `${LABEL_MANAGED_BY}=${manager}`;
  return `${LABEL_MANAGED_BY} in (${[manager, ...adopt].join(',')})`;
}
