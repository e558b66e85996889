import type { EndpointRecord, SliceRecord } from '../../core/records.ts';
import type { PlanInput, SlicePlan } from '../../functions/plan/types.ts';
import { applyToSlices } from './apply.ts';
import { compare, textOfPorts, type Verdict } from './compare.ts';
import { disturbSlices } from './disturb.ts';
import { mutateWorld } from './mutate.ts';
import { Random } from './random.ts';
import { runUpstream, type UpstreamOutcome } from './upstream.ts';
import { makeWorld, type World } from './world.ts';

export type Planner = (input: PlanInput) => SlicePlan;

export interface Exploration {
  readonly passes: number;
  /** How many passes met each rule of the README's table. */
  readonly rules: ReadonlyMap<string, number>;
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly caseNumber: number;
  readonly step: number;
  readonly input: PlanInput;
  readonly differences: readonly string[];
}

interface Case {
  readonly number: number;
  readonly random: Random;
  /** Whose slices the next step starts from: the two sides place endpoints differently. */
  readonly follow: 'ours' | 'upstream';
  world: World;
  slices: readonly SliceRecord[];
}

const STEPS = 4;
/** Cases that upstream gets in one run of its program; bounds memory. */
const BATCH = 100;

/**
 * Makes `cases` Services of one seed and takes each through several passes of both sides, with
 * changes to the Service, its workloads and its slices in between. Stops early once `enough`
 * failures are known.
 */
export function explore(
  planner: Planner,
  program: string,
  options: { readonly seed: number; readonly cases: number; readonly enough: number },
): Exploration {
  const failures: Failure[] = [];
  const rules = new Map<string, number>();
  let passes = 0;
  for (let first = 0; first < options.cases && failures.length < options.enough; first += BATCH) {
    const batch = makeCases(options.seed, first, Math.min(first + BATCH, options.cases));
    for (let step = 0; step < STEPS; step += 1) {
      const inputs = batch.map(toInput);
      const upstream = runUpstream(program, inputs);
      for (const [index, each] of batch.entries()) {
        const [input, outcome] = [inputs[index], upstream[index]];
        if (input === undefined || outcome === undefined) throw new Error('a case got lost');
        const { verdict, after } = judge(planner, input, outcome);
        passes += 1;
        for (const rule of verdict.rules) rules.set(rule, (rules.get(rule) ?? 0) + 1);
        if (verdict.differences.length > 0) {
          failures.push({ caseNumber: each.number, step, input, differences: verdict.differences });
        }
        advance(each, after, outcome);
      }
    }
  }
  return { passes, rules, failures };
}

/** Both sides over one input; `after` is null when the planner threw. */
export function judge(
  planner: Planner,
  input: PlanInput,
  upstream: UpstreamOutcome,
): { readonly verdict: Verdict; readonly after: readonly SliceRecord[] | null } {
  try {
    const plan = planner(input);
    const after = applyToSlices(input, plan);
    const verdict = compare({ input, plan, after, upstream });
    const again = planner({ ...input, slices: after.filter((slice) => !slice.deleting) });
    const restless = again.writes.map((write) => `a second pass would ${write.id} again`);
    return { verdict: { ...verdict, differences: [...verdict.differences, ...restless] }, after };
  } catch (error) {
    return {
      verdict: { differences: [`the planner threw ${String(error)}`], rules: [] },
      after: null,
    };
  }
}

function makeCases(seed: number, from: number, to: number): Case[] {
  const cases: Case[] = [];
  for (let number = from; number < to; number += 1) {
    const random = new Random(seed * 1_000_003 + number);
    const follow = random.pick(['ours', 'upstream'] as const);
    cases.push({ number, random, follow, world: makeWorld(random), slices: [] });
  }
  return cases;
}

function toInput({ world, slices }: Case): PlanInput {
  return {
    key: { namespace: 'default', name: world.service.name },
    service: world.service,
    workloads: world.workloads,
    slices,
    takenNames: slices.filter((slice) => slice.deleting).map((slice) => slice.name),
    options: world.options,
  };
}

function advance(each: Case, ours: readonly SliceRecord[] | null, upstream: UpstreamOutcome): void {
  const follows = each.follow === 'ours' || each.world.service.deleting;
  const left = follows ? (ours ?? []) : canonical(upstream.slices);
  // Terminating slices are gone by now.
  const kept = left.filter((slice) => !slice.deleting);
  each.slices = disturbSlices(each.random, kept);
  each.world = mutateWorld(each.random, each.world);
}

/**
 * Upstream's packing with the endpoints in a fixed order: it places them at random, and a case must
 * come out the same each time. Placeholders, which are upstream's alone, are left out.
 */
function canonical(slices: readonly SliceRecord[]): SliceRecord[] {
  const filled = slices.filter((slice) => slice.endpoints.length > 0);
  const groups = Map.groupBy(
    filled,
    ({ addressType, ports }) => `${addressType} ${textOfPorts(ports)}`,
  );
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, group], number) => {
      const endpoints = group.flatMap((slice) => slice.endpoints).sort(byWorkload);
      return group
        .sort((a, b) => b.endpoints.length - a.endpoints.length)
        .map((slice, index) => ({
          ...slice,
          name: `upstream-${number}-${index}`,
          uid: `upstream-${number}-${index}`,
          endpoints: endpoints.splice(0, slice.endpoints.length),
        }));
    });
}

function byWorkload(a: EndpointRecord, b: EndpointRecord): number {
  return (a.targetRef?.name ?? '') < (b.targetRef?.name ?? '') ? -1 : 1;
}
