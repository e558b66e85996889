import type { Cache } from './cache.ts';
import type { ClusterDirectory } from './directory.ts';
import type { Known } from './known.ts';
import type { LocalNames } from './local-names.ts';

/** All that a process knows; what every answer is made from. */
export interface World {
  readonly directory: ClusterDirectory;
  readonly cache: Cache;
  readonly names: LocalNames;
}

/** Something that can be asked for, once or for as long as somebody listens. */
export interface Target {
  /** Brings what is known up to date; undefined when it is, which most answers owe their speed to. */
  load(): Promise<void> | undefined;
  /** What is known now. */
  now(): Known;
  /** Calls `listener` whenever `now` may have become another, and keeps it so; gives its end. */
  watch(listener: () => void): () => void;
  /** When the change that was told last was heard of, ms of the cache's clock; null: none yet. */
  changedAt(): number | null;
}
