import {
  ApiError,
  LockLostError,
  RunEndedError,
  TetherError,
  UnreachableError,
} from '../core/errors.ts';
import type { ObjectKey } from '../core/object-key.ts';
import type { LeftOut, Outcome, ReconcileResult } from '../core/outcome.ts';
import type { ServiceRecord, SliceRecord } from '../core/records.ts';
import type { EndpointApi } from '../platform/kube/endpoint-api.ts';
import type { ServiceView, World } from '../platform/redis/view/service-view.ts';
import { applyPlan, type ApplyResult, type WriteProblem } from './apply-plan.ts';
import { LOCKED_RETRY_MS, type Lease } from './lease.ts';
import { planSlices } from './plan/plan-slices.ts';
import type { PlanOptions, SlicePlan } from './plan/types.ts';
import { readLive, restsOnUnknownAbsence } from './read-world.ts';
import { asksForTime, isStale, settleProblems } from './settle-problems.ts';

/** What a run reads, plans with, and writes to. */
export interface RunDeps {
  readonly view: ServiceView;
  readonly api: EndpointApi;
  readonly plan: PlanOptions;
  /** Told of each run's left-out workloads and of problems that a person must solve. */
  readonly report: RunReport;
  /** Runs around each plan, for traces. */
  readonly aroundPlan?: <P extends SlicePlan>(plan: () => P) => P;
}

export interface RunReport {
  leftOut(key: ObjectKey, leftOut: readonly LeftOut[]): void;
  problem(key: ObjectKey, service: ServiceRecord | null, problem: WriteProblem): void;
  /** The view could not be used and the state was read from the API server. */
  viewMissed(key: ObjectKey, why: 'not-in-sync' | 'absence-unknown'): void;
  lockLost(key: ObjectKey): void;
}

/** Re-plans after conflicts within one run before the key goes back to the queue. */
const MAX_ROUNDS = 5;

/** One run of one key: reads, plans and applies until a plan went through, and keeps the tally. */
export class ServiceRun {
  readonly written: SliceRecord[] = [];
  readonly deleted: SliceRecord[] = [];
  /** A write may have been made or not. */
  unsure = false;
  readonly #key: ObjectKey;
  readonly #deps: RunDeps;
  readonly #lease: Lease;
  readonly #triggerTime: string;
  readonly #taken = new Set<string>();
  /** Of the last round: what an earlier one could not write it wrote, or failed at as well. */
  #problems: { readonly service: ServiceRecord | null; readonly problem: WriteProblem }[] = [];
  readonly #counts = { created: 0, updated: 0, deleted: 0 };
  readonly #wantsLive: boolean;
  #read: 'view' | 'live' = 'view';

  constructor(
    key: ObjectKey,
    deps: RunDeps,
    lease: Lease,
    triggerTime: string,
    wantsLive: boolean,
  ) {
    this.#key = key;
    this.#deps = deps;
    this.#lease = lease;
    this.#triggerTime = triggerTime;
    this.#wantsLive = wantsLive;
  }

  /** Never throws for what the outside does. */
  async toOutcome(): Promise<Outcome> {
    try {
      return await this.#untilApplied();
    } catch (error) {
      if (error instanceof RunEndedError) {
        return { kind: 'retry', afterMs: 0, failure: false, reason: error.message, error };
      }
      if (error instanceof LockLostError) {
        return {
          kind: 'retry',
          afterMs: LOCKED_RETRY_MS,
          failure: false,
          reason: error.message,
          error,
        };
      }
      const known = error instanceof TetherError ? error : new UnreachableError('reconcile', error);
      return settleProblems([{ kind: 'failed', error: known }]);
    }
  }

  /** Tells what went wrong with single writes, whatever became of the run. */
  tellProblems(): void {
    for (const { service, problem } of this.#problems) {
      this.#deps.report.problem(this.#key, service, problem);
    }
  }

  async #untilApplied(): Promise<Outcome> {
    let { world, plan } = await this.#firstPlan();
    for (let round = 1; ; round++) {
      const result = await this.#apply(world, plan);
      // Nobody's failure: no Event, no count; the key is somebody else's, or comes back.
      const ended = result.problems.find(isTheEnd);
      if (ended) throw ended.error;
      const { service } = world;
      this.#problems = result.problems.map((problem) => ({ service, problem }));
      const problems = result.problems.filter(({ kind }) => kind !== 'terminating');
      if (problems.length === 0) {
        return { kind: 'done', result: this.#result(plan), failuresBefore: 0 };
      }
      const again = problems.some(isStale) && !problems.some(asksForTime);
      if (!again || round === MAX_ROUNDS) return settleProblems(problems);
      for (const problem of problems) if (problem.kind === 'taken') this.#taken.add(problem.name);
      world = await this.#readLive();
      plan = this.#plan(world);
    }
  }

  async #firstPlan(): Promise<{ world: World; plan: SlicePlan }> {
    const { view, report } = this.#deps;
    const seen = this.#lease.world;
    if (seen !== null) {
      const plan = this.#plan(seen);
      if (!(await restsOnUnknownAbsence(view, this.#key, seen, plan))) return { world: seen, plan };
      report.viewMissed(this.#key, 'absence-unknown');
    } else if (!this.#wantsLive) {
      report.viewMissed(this.#key, 'not-in-sync');
    }
    const world = await this.#readLive();
    return { world, plan: this.#plan(world) };
  }

  #readLive(): Promise<World> {
    this.#read = 'live';
    const { api, plan } = this.#deps;
    return readLive(api, this.#key, plan, this.#lease.signal);
  }

  #plan(world: World): SlicePlan {
    const { aroundPlan, plan: options } = this.#deps;
    const make = (): SlicePlan =>
      planSlices({
        key: this.#key,
        service: world.service,
        workloads: world.workloads,
        slices: world.slices,
        takenNames: [...this.#taken],
        options,
      });
    const plan = aroundPlan === undefined ? make() : aroundPlan(make);
    this.#deps.report.leftOut(this.#key, plan.leftOut);
    return plan;
  }

  async #apply(world: World, plan: SlicePlan): Promise<ApplyResult> {
    const result = await applyPlan({
      key: this.#key,
      service: world.service ?? { name: this.#key.name, uid: '' },
      plan,
      triggerTime: this.#triggerTime,
      api: this.#deps.api,
      lease: this.#lease,
    });
    this.unsure ||= result.problems.some(gotNoAnswer);
    this.written.push(...result.written);
    this.deleted.push(...result.deleted);
    this.#counts.created += result.counts.created;
    this.#counts.updated += result.counts.updated;
    this.#counts.deleted += result.counts.deleted;
    return result;
  }

  #result(plan: SlicePlan): ReconcileResult {
    return {
      ...this.#counts,
      names: [...this.written, ...this.deleted].map((slice) => slice.name),
      endpoints: plan.endpoints,
      ready: plan.ready,
      changed: plan.changed,
      slices: plan.slices,
      leftOut: plan.leftOut,
      read: this.#read,
    };
  }
}

/** 504 is the API server's word for not knowing either. */
function gotNoAnswer(problem: WriteProblem): boolean {
  if (problem.kind !== 'failed') return false;
  const { error } = problem;
  return error instanceof UnreachableError || (error instanceof ApiError && error.status === 504);
}

type Ending = WriteProblem & { readonly error: LockLostError | RunEndedError };

function isTheEnd(problem: WriteProblem): problem is Ending {
  return (
    problem.kind === 'failed' &&
    (problem.error instanceof LockLostError || problem.error instanceof RunEndedError)
  );
}
