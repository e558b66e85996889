/** What Tether watches of a remote cluster, and so what the double serves. */
export interface DoubleKind {
  readonly plural: 'services' | 'endpointslices' | 'externalworkloads';
  readonly kind: string;
  readonly group: string;
  readonly apiVersion: string;
  /** Of the list over all namespaces. */
  readonly path: string;
  /** Items of a list name their kind: so it is with those of a CRD alone. */
  readonly itemsNameTheirKind: boolean;
}

export type DoublePlural = DoubleKind['plural'];

export const DOUBLE_KINDS: readonly DoubleKind[] = [
  {
    plural: 'services',
    kind: 'Service',
    group: '',
    apiVersion: 'v1',
    path: '/api/v1/services',
    itemsNameTheirKind: false,
  },
  {
    plural: 'endpointslices',
    kind: 'EndpointSlice',
    group: 'discovery.k8s.io',
    apiVersion: 'discovery.k8s.io/v1',
    path: '/apis/discovery.k8s.io/v1/endpointslices',
    itemsNameTheirKind: false,
  },
  {
    plural: 'externalworkloads',
    kind: 'ExternalWorkload',
    group: 'workload.linkerd.io',
    apiVersion: 'workload.linkerd.io/v1beta1',
    path: '/apis/workload.linkerd.io/v1beta1/externalworkloads',
    itemsNameTheirKind: true,
  },
];

export function kindOf(plural: DoublePlural): DoubleKind {
  const found = DOUBLE_KINDS.find((kind) => kind.plural === plural);
  if (found === undefined) throw new Error(`the double does not serve ${plural}`);
  return found;
}
