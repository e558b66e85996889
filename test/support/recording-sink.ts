import type { ReflectorSink, ReflectorState } from '../../watcher/reflector.ts';

export interface Named {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

/**
 * Does with a reflector's deliveries what a view does: keeps the last version of each object, and
 * takes a complete list for the whole truth.
 */
export class RecordingSink<T extends Named> implements ReflectorSink<T> {
  readonly cache = new Map<string, T>();
  readonly states: ReflectorState[] = [];
  readonly events: string[] = [];
  readonly listed: string[] = [];
  readonly pages: number[] = [];
  /** Objects that only a list told to be gone. */
  readonly vanished: string[] = [];
  abandoned = 0;
  batches = 0;
  /** Throws or waits in the consumer's place. */
  onPageHook: ((items: readonly T[]) => Promise<void> | void) | undefined;
  onListedHook: (() => Promise<void> | void) | undefined;
  onEventHook: ((type: string, object: T) => void) | undefined;
  private staged = new Map<string, T>();

  get names(): string[] {
    return [...this.cache.keys()].sort();
  }
  get stateKinds(): string[] {
    return this.states.map((state) => state.kind);
  }

  async onPage(items: readonly T[]): Promise<void> {
    await this.onPageHook?.(items);
    this.pages.push(items.length);
    for (const item of items) this.staged.set(item.metadata.name, item);
  }

  async onListed(resourceVersion: string): Promise<void> {
    await this.onListedHook?.();
    for (const name of this.cache.keys()) {
      if (!this.staged.has(name)) this.vanished.push(name);
    }
    this.cache.clear();
    for (const [name, item] of this.staged) this.cache.set(name, item);
    this.staged = new Map();
    this.listed.push(resourceVersion);
  }

  onListAbandoned(): void {
    this.abandoned += 1;
    this.staged = new Map();
  }

  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    this.onEventHook?.(type, object);
    const { name } = object.metadata;
    this.events.push(`${type} ${name}`);
    if (type === 'DELETED') this.cache.delete(name);
    else this.cache.set(name, object);
  }

  onBatchEnd(): void {
    this.batches += 1;
  }

  onState(state: ReflectorState): void {
    this.states.push(state);
  }
}
