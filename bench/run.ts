import { describeError } from '../core/errors.ts';
import {
  parseOptions,
  USAGE,
  UsageError,
  type BenchOptions,
  type ScenarioName,
} from './options.ts';
import { renderResults, writeResults } from './report/benchmarks-page.ts';
import { currentLoad, describeMachine } from './report/machine.ts';
import type { Section } from './report/section.ts';
import { ceiling } from './scenarios/ceiling.ts';
import { churnOfMany, churnOfOne } from './scenarios/churn.ts';
import { cold } from './scenarios/cold.ts';
import { death } from './scenarios/death.ts';
import { resync } from './scenarios/resync.ts';
import { sizesFor, type Sitting } from './sitting.ts';
import { openStages } from './stage.ts';

type SideBySide = Exclude<ScenarioName, 'growth'>;

const RUNNERS: Record<SideBySide, (sitting: Sitting) => Promise<Section[]>> = {
  ceiling,
  cold,
  churn: churnOfMany,
  'one-service': churnOfOne,
  resync,
  death,
};

/** Runs what was asked for, prints it, and writes the pages. */
async function bench(options: BenchOptions): Promise<void> {
  const loadBefore = currentLoad();
  await using owned = new AsyncDisposableStack();
  const stages = await openStages(options.quick, say);
  owned.defer(() => stages.close());
  const sitting: Sitting = {
    stages,
    runs: options.runs,
    sizes: sizesFor(options.quick),
    ceilings: new Map(),
    say,
  };
  const sections: Section[] = [];
  for (const name of options.scenarios) {
    if (name !== 'growth') sections.push(...(await RUNNERS[name](sitting)));
  }
  if (sections.length > 0) {
    const results = renderResults(describeMachine(stages.version(), loadBefore), sections);
    process.stdout.write(`${results}\n`);
    if (options.out !== undefined && options.out !== '-') writeResults(options.out, results);
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  let options: BenchOptions | 'help';
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`bench: ${error.message}\n${USAGE}`);
    return 2;
  }
  if (options === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  // Ctrl-C: everything that was started is tied to this process and ends with it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.exit(130));
  try {
    await bench(options);
    return 0;
  } catch (error) {
    process.stderr.write(`bench: ${describeError(error)}\n`);
    return 1;
  }
}

process.exit(await main());
