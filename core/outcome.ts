import type { TetherError } from './errors.ts';

/** Why a workload, or a part of it, is not in a slice. The same words feed logs, metrics and `explain`. */
export type LeftOutReason =
  | 'selector-mismatch'
  | 'no-address'
  | 'no-address-in-family'
  | 'address-refused'
  | 'no-port-resolves'
  | 'port-unresolved'
  | 'port-name-ambiguous'
  | 'hostname-refused';

export interface LeftOut {
  readonly workload: string;
  readonly uid: string;
  readonly reason: LeftOutReason;
  /** One sentence for a person: which address, which port, and what to do. */
  readonly detail: string;
  /** True when the workload's author must act, so that a Warning Event tells them. */
  readonly warn: boolean;
}

/** What one run of a Service did. */
export interface ReconcileResult {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  /** Names of the slices written or deleted. */
  readonly names: readonly string[];
  readonly endpoints: number;
  readonly ready: number;
  /** Endpoints that came, went, or changed their state. */
  readonly changed: number;
  readonly slices: number;
  readonly leftOut: readonly LeftOut[];
  /** Where the state was read from. */
  readonly read: 'view' | 'live';
}

/** What a run of a reconcile function came to; one switch in `functions/worker.ts` acts on it. */
export type Outcome =
  | {
      readonly kind: 'done';
      readonly result: ReconcileResult;
      /** Failures in a row that this success ends. */
      readonly failuresBefore: number;
    }
  | {
      readonly kind: 'retry';
      /** Milliseconds; absent: the key's exponential backoff decides. */
      readonly afterMs?: number;
      /** Failures of the key in a row, this one included, once they were counted. */
      readonly failures?: number;
      /** False for what is nobody's fault (the lock is held elsewhere): not counted as a failure. */
      readonly failure: boolean;
      readonly reason: string;
      readonly error?: TetherError;
    }
  | { readonly kind: 'terminal'; readonly reason: string; readonly error: TetherError };
