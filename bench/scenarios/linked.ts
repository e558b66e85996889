import type { LinkedName } from '../options.ts';
import { startLinkedRun } from '../linked/linked-run.ts';
import type { LinkedPart } from '../linked/part.ts';
import type { Column, Figures, Section } from '../report/section.ts';
import type { Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { fifty } from './linked/fifty.ts';
import { largeCluster } from './linked/large-cluster.ts';
import { lookUps } from './linked/look-ups.ts';
import { remoteChange } from './linked/remote-change.ts';
import { rotation } from './linked/rotation.ts';
import { subscribers } from './linked/subscribers.ts';
import { takeover } from './linked/takeover.ts';
import { prepare, worldOf } from './worlds.ts';

const PARTS: Readonly<Record<LinkedName, LinkedPart>> = {
  'fifty-clusters': fifty,
  'look-ups': lookUps,
  'remote-change': remoteChange,
  rotation,
  subscribers,
  'large-cluster': largeCluster,
  takeover,
};

/**
 * The scenarios about linked clusters, one after another on the same processes: those of a run meet all
 * the clusters that `fifty-clusters` links, where that is among them, and two clusters else.
 */
export async function linked(
  sitting: Sitting,
  names: readonly LinkedName[],
): Promise<readonly Section[]> {
  const results = new Map(names.map((name) => [name, [] as Figures[][]]));
  for (let run = 1; run <= sitting.runs; run += 1) {
    for (const name of names) {
      const { alone } = PARTS[name];
      if (alone === undefined) continue;
      sitting.say(`${name}, without linked clusters: run ${run} of ${sitting.runs}`);
      const figures = await sitting.stages.on(async (stage) => {
        await prepareLocal(sitting, stage);
        return alone(sitting, stage);
      });
      results.get(name)?.push([figures]);
    }
    const { real } = sitting.sizes.linked;
    await sitting.stages.on((stage) => oneRun(sitting, stage, run, results), real);
  }
  return names.map((name) => sectionOf(sitting, PARTS[name], results.get(name) ?? []));
}

async function oneRun(
  sitting: Sitting,
  stage: Stage,
  nth: number,
  results: ReadonlyMap<LinkedName, Figures[][]>,
): Promise<void> {
  const { linked: sizes, timeoutMs } = sitting.sizes;
  const all = results.has('fifty-clusters');
  if (all) await prepareLocal(sitting, stage);
  await using owned = new AsyncDisposableStack();
  const run = await startLinkedRun(stage, { sizes, all, timeoutMs }, owned);
  const work = async (): Promise<void> => {
    for (const [name, figures] of results) {
      sitting.say(`${name}: run ${nth} of ${sitting.runs}`);
      const measured = await PARTS[name].measure(run);
      sitting.say(`  ${JSON.stringify(measured, shortened)}`);
      const alone = PARTS[name].alone === undefined ? [] : (figures.pop() ?? []);
      figures.push([...measured, ...alone]);
    }
  };
  await Promise.race([work(), run.fleet.failed]);
}

async function prepareLocal(sitting: Sitting, stage: Stage): Promise<void> {
  await prepare(sitting, stage, worldOf(sitting, stage, sitting.sizes.linked.local));
}

function sectionOf(
  { sizes }: Sitting,
  part: LinkedPart,
  runs: readonly (readonly Figures[])[],
): Section {
  const columns: Column[] = part.columns.map((title, at) => ({
    title,
    runs: runs.map((figures) => figures[at] ?? {}),
  }));
  return {
    title: part.title(sizes.linked),
    intro: part.intro(sizes.linked),
    rows: part.rows,
    columns,
    ratio: part.columns.length === 2,
    notes: [],
    bars: part.bars(columns),
  };
}

function shortened(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value;
}
