import type { UsageMeter } from '../measure/usage.ts';
import type { World } from '../world.ts';

/** Where a contender runs. */
export interface Place {
  readonly kubeconfig: string;
  /** For every process of Tether. */
  readonly tetherEnv: Readonly<Record<string, string>>;
  /** Of this run alone: logs, `.tether/redis-url`. */
  readonly dir: string;
  /** Gets the processes that a contender starts, by name. */
  readonly usage: UsageMeter;
  /** kube-controller-manager. */
  readonly controllerManager: string;
}

/** A controller that makes slices: Tether, or what it is compared with. */
export interface Contender {
  /** As tables head its column. */
  readonly title: string;
  readonly backing: World['backing'];
  start(place: Place): Promise<RunningContender>;
}

/** One run of a contender. */
export interface RunningContender {
  /** When it was started, by `monotonicMs`, just before the process was made. */
  readonly startedAt: number;
  /** The same moment by the wall clock, for comparison with log lines. */
  readonly startedAtWall: number;
  /** The text of its own `/metrics`; undefined where it has none. */
  metrics(): Promise<string | undefined>;
  /** The Redis that it uses, if any. */
  redisUrl(): string | undefined;
  /** What it has logged so far. */
  log(): string;
  /** Resolves once it has ended by itself, with the last of its log. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}
