/**
 * What the view keeps of each object: only the fields that can reach an EndpointSlice. Records are
 * plain JSON; `core/project.ts` makes them from API objects, watchers store them, functions plan
 * with them.
 */

export type IpFamily = 'IPv4' | 'IPv6';
export type Protocol = 'TCP' | 'UDP' | 'SCTP';
export type Labels = Readonly<Record<string, string>>;

export interface ServicePortRecord {
  /** '' when the Service has one unnamed port. */
  readonly name: string;
  readonly port: number;
  readonly protocol: Protocol;
  /** A number, the name of a workload's port, or null when the Service leaves it out. */
  readonly targetPort: number | string | null;
  readonly appProtocol?: string;
}

export interface ServiceRecord {
  readonly name: string;
  readonly uid: string;
  readonly rv: string;
  readonly deleting: boolean;
  /** `spec.type`: ClusterIP, NodePort, LoadBalancer or ExternalName. */
  readonly type: string;
  /** `spec.clusterIP`; '' when absent, 'None' when headless. */
  readonly clusterIP: string;
  /** `spec.ipFamilies`; empty when absent. */
  readonly ipFamilies: readonly IpFamily[];
  /** `spec.selector`; empty when absent: both select nothing. */
  readonly selector: Labels;
  readonly ports: readonly ServicePortRecord[];
  readonly labels: Labels;
  readonly publishNotReady: boolean;
  /** A trafficDistribution that keeps traffic near, or the annotation topology-mode: Auto. */
  readonly zoneHints: boolean;
  /** What annotations say that the Service stands for; absent where there is none. */
  readonly discovery?: DiscoveryRecord;
}

/** Annotations of a federated Service, as they are. */
export interface DiscoveryRecord {
  /** `service@cluster`, a comma between two. */
  readonly remote?: string;
  /** Name of a Service of the served cluster. */
  readonly local?: string;
}

export interface WorkloadPortRecord {
  /** '' when unnamed. */
  readonly name: string;
  readonly port: number;
  readonly protocol: Protocol;
}

export interface WorkloadRecord {
  readonly name: string;
  readonly uid: string;
  readonly rv: string;
  readonly labels: Labels;
  /** `spec.workloadIPs[].ip`, verbatim and in order; the planner judges them. */
  readonly ips: readonly string[];
  readonly ports: readonly WorkloadPortRecord[];
  /** The Ready condition: True, anything else, or null when there is no such condition. */
  readonly ready: boolean | null;
  readonly deleting: boolean;
}

/** `discovery.k8s.io/v1` Endpoint, the part that Tether writes. */
export interface EndpointRecord {
  readonly addresses: readonly string[];
  readonly conditions: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
  readonly hostname?: string;
  readonly targetRef?: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
  readonly nodeName?: string;
  readonly zone?: string;
  readonly hints?: { readonly forZones?: readonly { readonly name: string }[] };
  /** Somebody wrote more into it than Tether ever does: hints for nodes, a version of its target. */
  readonly foreign?: true;
}

/** `discovery.k8s.io/v1` EndpointPort, with the API server's defaults filled in. */
export interface EndpointPortRecord {
  readonly name: string;
  readonly port: number | null;
  readonly protocol: Protocol;
  readonly appProtocol?: string;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface SliceRecord {
  readonly name: string;
  readonly uid: string;
  readonly rv: string;
  readonly deleting: boolean;
  /** IPv4 or IPv6; FQDN and the legacy IP are possible in what others wrote. */
  readonly addressType: string;
  readonly labels: Labels;
  readonly owners: readonly OwnerReference[];
  readonly ports: readonly EndpointPortRecord[];
  readonly endpoints: readonly EndpointRecord[];
  /** Annotations other than the trigger time, and finalizers: carried through an update untouched. */
  readonly annotations?: Labels;
  readonly finalizers?: readonly string[];
}
