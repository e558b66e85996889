/**
 * The parts of Kubernetes API objects that Tether reads, as they come off the wire. Every field is
 * optional: an API server of another version, or an object that was stored before a default existed,
 * must not make a reader throw.
 */

export interface ObjectMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly deletionTimestamp?: string;
  readonly creationTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly controller?: boolean;
    readonly blockOwnerDeletion?: boolean;
  }[];
}

export interface ApiObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: ObjectMeta;
}

export interface ApiService extends ApiObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly ipFamilies?: readonly string[];
    readonly selector?: Readonly<Record<string, string>>;
    readonly publishNotReadyAddresses?: boolean;
    readonly trafficDistribution?: string;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port?: number;
      readonly protocol?: string;
      readonly targetPort?: number | string;
      readonly appProtocol?: string;
    }[];
  };
}

export interface ApiExternalWorkload extends ApiObject {
  readonly spec?: {
    readonly workloadIPs?: readonly { readonly ip?: string }[];
    readonly ports?: readonly {
      readonly name?: string;
      readonly port?: number;
      readonly protocol?: string;
    }[];
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
  };
}

export interface ApiEndpointSlice extends ApiObject {
  readonly addressType?: string;
  readonly ports?: readonly {
    readonly name?: string;
    readonly port?: number;
    readonly protocol?: string;
    readonly appProtocol?: string;
  }[];
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[];
    readonly conditions?: {
      readonly ready?: boolean;
      readonly serving?: boolean;
      readonly terminating?: boolean;
    };
    readonly hostname?: string;
    readonly nodeName?: string;
    readonly zone?: string;
    readonly targetRef?: {
      readonly kind?: string;
      readonly namespace?: string;
      readonly name?: string;
      readonly uid?: string;
      readonly apiVersion?: string;
      readonly fieldPath?: string;
      readonly resourceVersion?: string;
    };
    readonly hints?: {
      readonly forZones?: readonly { readonly name: string }[];
      readonly forNodes?: readonly { readonly name: string }[];
    };
  }[];
}

export interface ApiSecret extends ApiObject {
  readonly type?: string;
  /** Values in base64. */
  readonly data?: Readonly<Record<string, string>>;
}
