import { describeError } from '../core/errors.ts';
import {
  isLinked,
  isOnDemand,
  parseOptions,
  USAGE,
  UsageError,
  type BenchOptions,
  type LinkedName,
  type OnDemandName,
  type ScenarioName,
} from './options.ts';
import { runProfile } from './profile/run-profile.ts';
import { renderGrowth } from './report/growth-tables.ts';
import { currentLoad, describeMachine } from './report/machine.ts';
import { writePage } from './report/pages.ts';
import { renderResults } from './report/results.ts';
import type { Section } from './report/section.ts';
import { apart } from './scenarios/apart.ts';
import { ceiling } from './scenarios/ceiling.ts';
import { churnOfMany, churnOfOne } from './scenarios/churn.ts';
import { cold } from './scenarios/cold.ts';
import { death } from './scenarios/death.ts';
import { growth } from './scenarios/growth.ts';
import { linked } from './scenarios/linked.ts';
import { outage } from './scenarios/outage.ts';
import { resync } from './scenarios/resync.ts';
import { workers } from './scenarios/workers.ts';
import { sizesFor, type Sitting } from './sitting.ts';
import { openStages } from './stage.ts';

type SideBySide = Exclude<ScenarioName, OnDemandName | LinkedName>;

const RUNNERS: Record<SideBySide, (sitting: Sitting) => Promise<Section[]>> = {
  ceiling,
  cold,
  churn: churnOfMany,
  'one-service': churnOfOne,
  resync,
  apart,
  death,
};

/** Each has a page, or a part of one, to itself. */
const ALONE = { outage, workers };

/** Someone wants to see no more of it. */
class InterruptedError extends Error {}

/** Runs what was asked for, prints it, and writes the pages; `owned` gets all that is to be ended. */
async function bench(options: BenchOptions, owned: AsyncDisposableStack): Promise<void> {
  const loadBefore = currentLoad();
  const stages = await openStages(options.quick, say);
  owned.defer(() => stages.close());
  const { runs, quick, scenarios, services, per, profile } = options;
  const sitting: Sitting = { stages, runs, sizes: sizesFor(quick), ceilings: new Map(), say };
  if (profile !== undefined) {
    const text = await runProfile(sitting, profile);
    return show(text, writePage(options, 'profile', text, profile));
  }
  const machine = (): string => describeMachine(stages.version(), loadBefore);
  const sections = await sideBySide(sitting, scenarios, machine);
  if (sections.length > 0) {
    const results = renderResults(machine(), sections);
    show(results, writePage(options, 'results', results));
  }
  const names = scenarios.filter(isLinked);
  if (names.length > 0) {
    // First, as the version of Kubernetes is known once there was a control plane.
    const found = await linked(sitting, names);
    const clusters = renderResults(machine(), found);
    show(clusters, writePage(options, 'clusters', clusters));
  }
  for (const name of ['outage', 'workers'] as const) {
    if (!scenarios.includes(name)) continue;
    const found = await ALONE[name](sitting);
    const text = renderResults(machine(), found);
    show(text, writePage(options, name, text));
  }
  if (!scenarios.includes('growth')) return;
  const grown = await growth(sitting, { services, per, quick });
  const tables = renderGrowth(machine(), grown);
  show(tables, writePage(options, 'growth', tables));
}

async function sideBySide(
  sitting: Sitting,
  scenarios: readonly ScenarioName[],
  machine: () => string,
): Promise<readonly Section[]> {
  const sections: Section[] = [];
  try {
    for (const name of scenarios) {
      if (!isOnDemand(name) && !isLinked(name)) sections.push(...(await RUNNERS[name](sitting)));
    }
  } catch (error) {
    // A sitting takes long: what came before the failure is worth reading, if not a page.
    if (sections.length > 0) show(renderResults(machine(), sections), undefined);
    throw error;
  }
  return sections;
}

function show(text: string, page: string | undefined): void {
  process.stdout.write(`${text}\n`);
  if (page !== undefined) say(`written into ${page}`);
}

/** Progress, apart from the results. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function untilInterrupted(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => reject(new InterruptedError(signal)));
    }
  });
}

async function run(options: BenchOptions): Promise<number> {
  const owned = new AsyncDisposableStack();
  const working = bench(options, owned);
  // What is under way when it is interrupted fails as its processes end.
  working.catch(() => undefined);
  try {
    await Promise.race([working, untilInterrupted()]);
    return 0;
  } catch (error) {
    if (error instanceof InterruptedError) return 130;
    process.stderr.write(`bench: ${describeError(error)}\n`);
    return 1;
  } finally {
    await owned.disposeAsync();
  }
}

async function main(): Promise<number> {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options !== 'help') return await run(options);
    process.stdout.write(USAGE);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`bench: ${error.message}\n${USAGE}`);
    return 2;
  }
}

process.exit(await main());
