import type { PlanInput } from '../../functions/plan/types.ts';

/**
 * Takes workloads, slices, endpoints and ports out of an input for as long as `fails` still says so,
 * in larger pieces first. `fails` costs about 20 ms a call; it is asked a few hundred times at most.
 */
export function minimise(input: PlanInput, fails: (input: PlanInput) => boolean): PlanInput {
  let budget = 400;
  const stillFails = (candidate: PlanInput): boolean => {
    budget -= 1;
    return budget >= 0 && fails(candidate);
  };
  let best = input;
  for (let before = ''; before !== JSON.stringify(best) && budget > 0;) {
    before = JSON.stringify(best);
    best = shrinkList(best, best.workloads, (workloads) => ({ ...best, workloads }), stillFails);
    best = shrinkList(best, best.slices, (slices) => ({ ...best, slices }), stillFails);
    best = shrinkEndpoints(best, stillFails);
    best = shrinkService(best, stillFails);
  }
  return best;
}

function shrinkList<T>(
  start: PlanInput,
  list: readonly T[],
  build: (list: readonly T[]) => PlanInput,
  fails: (input: PlanInput) => boolean,
): PlanInput {
  let [best, kept] = [start, list];
  for (
    let piece = Math.ceil(list.length / 2);
    piece >= 1;
    piece = piece === 1 ? 0 : Math.ceil(piece / 2)
  ) {
    for (let at = 0; at < kept.length;) {
      const fewer = [...kept.slice(0, at), ...kept.slice(at + piece)];
      const candidate = build(fewer);
      if (fails(candidate)) [best, kept] = [candidate, fewer];
      else at += piece;
    }
  }
  return best;
}

function shrinkEndpoints(start: PlanInput, fails: (input: PlanInput) => boolean): PlanInput {
  let best = start;
  for (const slice of start.slices) {
    const name = slice.name;
    const build = (endpoints: typeof slice.endpoints): PlanInput => ({
      ...best,
      slices: best.slices.map((other) => (other.name === name ? { ...other, endpoints } : other)),
    });
    best = shrinkList(best, slice.endpoints, build, fails);
  }
  return best;
}

function shrinkService(start: PlanInput, fails: (input: PlanInput) => boolean): PlanInput {
  const service = start.service;
  if (service === null) return start;
  const simpler: readonly Partial<typeof service>[] = [
    { labels: {} },
    { publishNotReady: false },
    { zoneHints: false },
    { deleting: false },
    ...service.ports.map((port) => ({ ports: service.ports.filter((other) => other !== port) })),
    ...service.ipFamilies.map((family) => ({ ipFamilies: [family] })),
  ];
  let best = start;
  for (const change of simpler) {
    const candidate = { ...best, service: { ...service, ...best.service, ...change } };
    const smaller =
      JSON.stringify(candidate).length < JSON.stringify(best).length || change.ports === undefined;
    const differs = JSON.stringify(candidate) !== JSON.stringify(best);
    if (differs && smaller && fails(candidate)) best = candidate;
  }
  return best;
}
