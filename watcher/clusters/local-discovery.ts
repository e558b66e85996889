import type { ApiObject } from '../../core/api-objects.ts';
import { ANNOTATION_LOCAL_DISCOVERY } from '../../core/names.ts';
import type { ReflectorSink, ReflectorState } from '../reflector.ts';

/**
 * Knows whether any Service of the served cluster is a member of a federated one: only then is the
 * served cluster watched as a linked one. It listens along to the Services that are watched anyway.
 */
export class LocalDiscovery {
  readonly #accepts: (namespace: string) => boolean;
  #members = new Set<string>();
  #known = false;

  /** @param accepts whether Services of a namespace are served. */
  constructor(accepts: (namespace: string) => boolean) {
    this.#accepts = accepts;
  }

  /** Null until the Services were listed once. */
  wanted(): boolean | null {
    return this.#known ? this.#members.size > 0 : null;
  }

  /** The same sink, listened to. */
  tap(sink: ReflectorSink<ApiObject>): ReflectorSink<ApiObject> {
    let listed = new Set<string>();
    return {
      onPage: (items: readonly ApiObject[]) => {
        for (const item of items) if (this.#isMember(item)) listed.add(keyOf(item));
        return sink.onPage(items);
      },
      onListed: (resourceVersion: string) => {
        this.#members = listed;
        this.#known = true;
        listed = new Set();
        return sink.onListed(resourceVersion);
      },
      onListAbandoned: () => {
        listed = new Set();
        sink.onListAbandoned();
      },
      onEvent: (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: ApiObject) => {
        if (type !== 'DELETED' && this.#isMember(object)) this.#members.add(keyOf(object));
        else this.#members.delete(keyOf(object));
        sink.onEvent(type, object);
      },
      onBatchEnd: () => sink.onBatchEnd(),
      onState: (state: ReflectorState) => sink.onState(state),
    };
  }

  #isMember({ metadata = {} }: ApiObject): boolean {
    const annotation = metadata.annotations?.[ANNOTATION_LOCAL_DISCOVERY] ?? '';
    return annotation !== '' && this.#accepts(metadata.namespace ?? '');
  }
}

function keyOf({ metadata = {} }: ApiObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
