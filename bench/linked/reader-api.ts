import type { Change } from './doubles-api.ts';

/** Where a look-up server is, and what is asked of it. */
export interface Target {
  readonly port: number;
  /** With its query. */
  readonly path: string;
}

export interface LoadPlan extends Target {
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadOutcome {
  /** Answers with status 200. */
  readonly answers: number;
  readonly perSecond: number;
  /** Any other status. */
  readonly refused: number;
  /** ms from the last byte of the request to the last of the answer. */
  readonly p50: number;
  readonly p99: number;
  /** Bytes of one answer's body. */
  readonly bodyBytes: number;
}

export interface PollPlan {
  readonly targets: readonly Target[];
  readonly perSecond: number;
  /** Texts that every answer holds. */
  readonly expected: readonly string[];
}

export interface PollOutcome {
  readonly answers: number;
  /** Answers of status 200 that lack something expected. */
  readonly incomplete: number;
  /** Any other status, and requests without an answer. */
  readonly failed: number;
  /** The first that was wrong, for a person. */
  readonly example: string;
  /** Longest wait for an answer, ms. */
  readonly longest: number;
}

/** When subscribers saw an address for the first time; moments of `monotonicMs`. */
export interface Sighting {
  readonly address: string;
  readonly subscribers: number;
  readonly first: number;
  readonly last: number;
}

/** Changes of a real API server, and when its own watch told of each. */
export interface RealChanges {
  readonly changes: readonly Change[];
  readonly told: readonly Change[];
}

/** A process that looks up: the clients of the benchmark, apart from all that is measured. */
export interface ReaderApi {
  load(plan: LoadPlan): Promise<LoadOutcome>;
  startPolling(plan: PollPlan): Promise<void>;
  stopPolling(): Promise<PollOutcome>;
  /** Status and body of one answer; status 0: none came. */
  ask(target: Target): Promise<{ readonly status: number; readonly body: string }>;
  /** Opens so many watches; resolves once each has got its first event. */
  subscribe(target: Target, count: number): Promise<void>;
  /** Waits until every subscriber has seen the address. */
  untilSeen(address: string, timeoutMs: number): Promise<Sighting>;
  /** What was seen since the last call. */
  sightings(): Promise<readonly Sighting[]>;
  /** Ends all watches; gives how many had ended by themselves. */
  unsubscribe(): Promise<number>;
  /** Makes a Service and a slice on a real API server. */
  prepareReal(kubeconfig: string): Promise<void>;
  changeReal(kubeconfig: string, perSecond: number, seconds: number): Promise<RealChanges>;
}
