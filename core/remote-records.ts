import type { EndpointPortRecord, Protocol } from './records.ts';

/*
 * What the view keeps of a linked cluster's objects: only what a look-up answers with. Made from API
 * objects by core/project-remote.ts; stored as text by core/remote-codec.ts.
 */

export type RemoteKind = 'service' | 'slice' | 'workload';

export const REMOTE_KINDS: readonly RemoteKind[] = ['service', 'slice', 'workload'];

export interface RemoteServicePort {
  /** '' when the Service has one unnamed port. */
  readonly name: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly appProtocol?: string;
}

export interface RemoteService {
  /** `namespace/name`, as for the other records. */
  readonly key: string;
  readonly uid: string;
  readonly rv: string;
  /** `spec.type`; an ExternalName has no endpoints. */
  readonly type: string;
  readonly headless: boolean;
  readonly ports: readonly RemoteServicePort[];
}

export interface RemoteEndpoint {
  readonly addresses: readonly string[];
  /** Absent conditions as Kubernetes reads them: ready and serving, not terminating. */
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly hostname?: string;
  readonly zone?: string;
  readonly nodeName?: string;
  readonly targetRef?: {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly uid?: string;
  };
}

export interface RemoteSlice {
  readonly key: string;
  readonly uid: string;
  readonly rv: string;
  /** Its Service, `namespace/name`; '' when no label names one. */
  readonly service: string;
  /** FQDN only where host names are allowed; its addresses are names then. */
  readonly addressType: 'IPv4' | 'IPv6' | 'FQDN';
  readonly ports: readonly EndpointPortRecord[];
  readonly endpoints: readonly RemoteEndpoint[];
}

/** mTLS identity of an ExternalWorkload; absent fields where its CRD pruned them. */
export interface RemoteWorkload {
  readonly key: string;
  readonly uid: string;
  readonly rv: string;
  readonly identity?: string;
  readonly serverName?: string;
}
