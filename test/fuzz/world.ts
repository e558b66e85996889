import type {
  ApiEndpointSlice,
  ApiExternalWorkload,
  ApiObject,
  ApiService,
} from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { wantedOf, type Wanted } from './oracle.ts';

export type Kind = 'service' | 'workload' | 'slice';

/** One object at one version of the store; null once it is gone. */
export interface Change {
  readonly revision: number;
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly object: ApiObject | null;
}

/** Every object that slices depend on, and the slices, at one version of the store. */
export class World {
  readonly #manager: string;
  readonly #objects: Record<Kind, Map<string, ApiObject>> = {
    service: new Map(),
    workload: new Map(),
    slice: new Map(),
  };

  constructor(manager: string) {
    this.#manager = manager;
  }

  apply({ kind, namespace, name, object }: Change): void {
    const objects = this.#objects[kind];
    if (object === null) objects.delete(`${namespace}/${name}`);
    else objects.set(`${namespace}/${name}`, object);
  }

  get(kind: Kind, key: string): ApiObject | undefined {
    return this.#objects[kind].get(key);
  }

  /** Keys of all Services that exist, and of those that slices of ours name. */
  services(): string[] {
    const named = [...this.#objects.slice.values()].flatMap((slice) => this.serviceOf(slice) ?? []);
    return [...new Set([...this.#objects.service.keys(), ...named])].sort();
  }

  /** The Service that a slice of ours belongs to; undefined for one of somebody else. */
  serviceOf({ metadata }: ApiObject): string | undefined {
    const name = metadata?.labels?.[LABEL_SERVICE_NAME];
    const ours = metadata?.labels?.[LABEL_MANAGED_BY] === this.#manager;
    return ours && name !== undefined ? `${metadata?.namespace}/${name}` : undefined;
  }

  wanted(service: string): Wanted | null {
    const [namespace = ''] = service.split('/');
    const workloads = [...this.#objects.workload.values()].filter(
      ({ metadata }) => metadata?.namespace === namespace,
    );
    return wantedOf(
      this.#objects.service.get(service) as ApiService | undefined,
      workloads as ApiExternalWorkload[],
      this.#manager,
    );
  }

  /** Slices of ours of this Service, by name. */
  slicesOf(service: string): ApiEndpointSlice[] {
    const slices = [...this.#objects.slice.values()].filter(
      (slice) => this.serviceOf(slice) === service,
    );
    return (slices as ApiEndpointSlice[]).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  }

  /** What tells one state of the slices from another: key and version of each, foreign ones too. */
  versions(kind: Kind): Map<string, string> {
    return new Map(
      [...this.#objects[kind]].map(([key, { metadata }]) => [key, metadata?.resourceVersion ?? '']),
    );
  }
}

export function nameOf({ metadata }: ApiObject): string {
  return metadata?.name ?? '';
}
