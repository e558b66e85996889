import type { DirectWrites } from '../agent/direct-writes.ts';
import { spreadOf } from '../report/markdown.ts';
import type { Column, Figures, Section } from '../report/section.ts';
import type { Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { sizeText, worldOf } from './worlds.ts';

/** A way to write the slices; each begins on a control plane of its own. */
interface Variant {
  readonly title: string;
  readonly encoding: DirectWrites['encoding'];
  readonly processes: number;
}

const VARIANTS: readonly Variant[] = [
  { title: 'JSON', encoding: 'json', processes: 1 },
  { title: 'JSON, two processes', encoding: 'json', processes: 2 },
  { title: 'protobuf', encoding: 'protobuf', processes: 1 },
];

/** What the API server takes when nothing but the writes themselves is done: no controller is faster. */
export async function ceiling(sitting: Sitting): Promise<Section[]> {
  const sections: Section[] = [];
  for (const size of sitting.sizes.cold) sections.push(await ceilingOf(sitting, size));
  return sections;
}

async function ceilingOf(
  sitting: Sitting,
  size: { readonly services: number; readonly per: number },
): Promise<Section> {
  const columns: Column[] = [];
  const runs = new Map<Variant, Figures[]>(VARIANTS.map((variant) => [variant, []]));
  for (let run = 1; run <= sitting.runs; run += 1) {
    for (const [variant, figures] of runs) {
      sitting.say(`ceiling ${sizeText(size)}: run ${run} of ${sitting.runs}, ${variant.title}`);
      figures.push(await sitting.stages.on((stage) => measure(sitting, stage, size, variant)));
    }
  }
  for (const [{ title }, figures] of runs) columns.push({ title, runs: figures });
  const json = spreadOf(columns[0], 'rate')?.median;
  if (json !== undefined) sitting.ceilings.set(size.services, json);
  const { writers } = sitting.sizes;
  return {
    title: `Ceiling, ${sizeText(size)}`,
    intro:
      `The slices that a controller would write are written directly, ${writers} at a time, over ` +
      'connections that stay open: no controller does more. Tether writes JSON, ' +
      'kube-controller-manager protobuf. Two processes show whether the one that makes the load is ' +
      'what limits it.',
    rows: [
      { id: 'rate', label: 'slices written a second', digits: 0 },
      { id: 'cpuApi', label: 'CPU of the API server, of one core', digits: 2 },
      { id: 'cpuEtcd', label: 'CPU of etcd, of one core', digits: 2 },
      { id: 'cpuBench', label: 'CPU of the load maker, of one core', digits: 2 },
    ],
    columns,
    ratio: false,
    notes: [],
    bars: [],
  };
}

async function measure(
  sitting: Sitting,
  stage: Stage,
  size: { readonly services: number; readonly per: number },
  { encoding, processes }: Variant,
): Promise<Figures> {
  const world = worldOf(sitting, stage, size);
  await stage.agent.load(world, sitting.sizes.writers);
  const agents = [stage.agent];
  while (agents.length < processes) agents.push(await stage.addAgent());
  const writers = Math.ceil(sitting.sizes.writers / processes);
  const mark = stage.usage.mark();
  const spans = await Promise.all(
    agents.map((agent, nth) =>
      agent.writeDirectly(world, { encoding, writers, nth, of: processes }),
    ),
  );
  const cpu = stage.usage.cpuSince(mark);
  const from = Math.min(...spans.map((span) => span.from));
  const seconds = (Math.max(...spans.map((span) => span.to)) - from) / 1000;
  await stage.agent.observe(world);
  // An observer that finds all of them right has read what was written: it was no empty exercise.
  await stage.agent.untilRight(sitting.sizes.timeoutMs);
  const ofOneCore = (name: string): number => (cpu.get(name) ?? 0) / seconds;
  return {
    rate: world.services / seconds,
    cpuApi: ofOneCore('API server'),
    cpuEtcd: ofOneCore('etcd'),
    cpuBench: ofOneCore('load and observer'),
  };
}
