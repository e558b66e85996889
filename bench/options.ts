import { parseArgs } from 'node:util';

/** Those about linked clusters; `clusters` stands for all of them. */
export const LINKED_SCENARIOS = [
  'fifty-clusters',
  'look-ups',
  'remote-change',
  'rotation',
  'subscribers',
  'large-cluster',
  'takeover',
] as const;
export type LinkedName = (typeof LINKED_SCENARIOS)[number];

/** Those that run only when they are asked for: each takes long, and has a page of its own. */
const ON_DEMAND = ['outage', 'workers', 'growth'] as const;

/** The scenarios, in the order in which they run. */
export const SCENARIOS = [
  'ceiling',
  'cold',
  'churn',
  'one-service',
  'resync',
  'apart',
  'death',
  ...LINKED_SCENARIOS,
  ...ON_DEMAND,
] as const;
export type ScenarioName = (typeof SCENARIOS)[number];
export type OnDemandName = (typeof ON_DEMAND)[number];

export function isOnDemand(name: ScenarioName): name is OnDemandName {
  return ON_DEMAND.some((asked) => asked === name);
}

export function isLinked(name: ScenarioName): name is LinkedName {
  return LINKED_SCENARIOS.some((linked) => linked === name);
}

/** What to profile. */
export type ProfileName = 'cold' | 'churn';

export interface BenchOptions {
  readonly scenarios: readonly ScenarioName[];
  readonly runs: number;
  /** Tiny sizes on one control plane: proves that it works. */
  readonly quick: boolean;
  /** Where the page goes; undefined: the usual page, if these scenarios fill it; `-`: no page. */
  readonly out: string | undefined;
  readonly profile: ProfileName | undefined;
  /** Sizes of `growth`; undefined: its own. */
  readonly services: readonly number[] | undefined;
  readonly per: number | undefined;
}

export const USAGE = `usage: npm run bench -- [--scenario A,B] [--runs N] [--out FILE] [--quick]
       npm run bench -- --scenario growth [--services A,B,C] [--per N] [--out FILE]
       npm run bench -- --profile cold|churn [--out FILE]

Measures Tether beside the API server's own ceiling and a tuned kube-controller-manager, each run on a
control plane of its own, and ends all that it started.
--scenario   ${SCENARIOS.filter((name) => !isLinked(name)).join(', ')};
             about linked clusters: clusters, for all of
             ${LINKED_SCENARIOS.join(', ')};
             default: all but ${ON_DEMAND.join(', ')}
--runs       how often each is repeated, in turn; default 3
--out        where the page goes; "-": nowhere. Default: docs/benchmarks.md when all scenarios of
             a part of it run, docs/scaling.md for growth and workers, docs/failure-modes.md for outage, else
             nowhere: the figures of a page come from one sitting
--quick      tiny sizes, one run, one control plane: shows that it works, measures nothing
--services   with growth: numbers of Services; --per: workloads of each
--profile    one run under the CPU profiler: where the milliseconds go
`;

/** A wrong command line; the message says what is wrong. */
export class UsageError extends Error {}

const DEFAULT_RUNS = 3;

/** @throws {UsageError} */
export function parseOptions(args: readonly string[]): BenchOptions | 'help' {
  const values = valuesOf(args);
  if (values.help) return 'help';
  const scenarios =
    values.scenario
      ?.split(',')
      .flatMap((name) => (name === 'clusters' ? LINKED_SCENARIOS : name)) ??
    SCENARIOS.filter((name) => !isOnDemand(name));
  const unknown = scenarios.find((name) => !SCENARIOS.some((known) => known === name));
  if (unknown !== undefined) {
    throw new UsageError(`--scenario ${unknown}: there is ${SCENARIOS.join(', ')}`);
  }
  const { profile } = values;
  if (profile !== undefined && profile !== 'cold' && profile !== 'churn') {
    throw new UsageError(`--profile ${profile}: there is cold, churn`);
  }
  const runs = values.quick ? 1 : DEFAULT_RUNS;
  return {
    scenarios: SCENARIOS.filter((name) => scenarios.includes(name)),
    runs: values.runs === undefined ? runs : wholeNumber('runs', values.runs),
    quick: values.quick,
    out: values.out,
    profile,
    services: values.services?.split(',').map((text) => wholeNumber('services', text)),
    per: values.per === undefined ? undefined : wholeNumber('per', values.per),
  };
}

function valuesOf(args: readonly string[]) {
  const options = {
    scenario: { type: 'string' },
    runs: { type: 'string' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    profile: { type: 'string' },
    services: { type: 'string' },
    per: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(flag: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new UsageError(`--${flag} ${text}: a whole number from 1 on is needed`);
}
