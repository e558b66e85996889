import type { World } from '../world.ts';
import type { ChurnPlan, ChurnResult } from './churn.ts';
import type { DirectWrites } from './direct-writes.ts';
import type { LoadResult } from './load.ts';
import type { SliceWrites } from './observer.ts';

/**
 * What the agent does: the process that makes the load and watches what comes of it, apart from the
 * one that starts and counts processes. Every argument and result is JSON.
 */
export interface AgentApi {
  /** To be called first. */
  open(kubeconfig: string, connections: number): Promise<void>;
  load(world: World, writers: number): Promise<LoadResult>;
  /** Watches the slices of this world from now on, until the next `observe`. */
  observe(world: World): Promise<void>;
  untilRight(timeoutMs: number): Promise<Rightness>;
  churn(plan: ChurnPlan): Promise<ChurnResult>;
  writeDirectly(
    world: World,
    share: DirectWrites,
  ): Promise<{ readonly from: number; readonly to: number }>;
  /** Bytes of a list of each of these paths, page by page as Tether asks for it. */
  listBytes(paths: readonly string[]): Promise<number>;
  /** The text of a path, such as `/metrics`. */
  read(path: string): Promise<string>;
}

/** When a world came to be right; moments are of the clock `monotonicMs`. */
export interface Rightness {
  /** When the first slice was seen. */
  readonly firstAt: number;
  readonly rightAt: number;
  readonly writes: Readonly<SliceWrites>;
}
