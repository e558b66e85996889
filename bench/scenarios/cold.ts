import { controllerManager } from '../contenders/controller-manager.ts';
import type { Contender, RunningContender } from '../contenders/contender.ts';
import { logged, tetherUp } from '../contenders/tether.ts';
import { beginCosts, type Costs } from '../measure/costs.ts';
import { costFigures, costNotes, costRows } from '../report/cost-figures.ts';
import type { Bar, Column, Figures, Section } from '../report/section.ts';
import { inTurn, withRunning, type Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import { noWorse } from './bars.ts';
import { prepare, sizeText, worldOf } from './worlds.ts';

type Size = Sitting['sizes']['cold'][number];

/** From the start of the command until every slice is right, with everything there beforehand. */
export async function cold(sitting: Sitting): Promise<Section[]> {
  const sections: Section[] = [];
  for (const size of sitting.sizes.cold) sections.push(await coldOf(sitting, size));
  return sections;
}

async function coldOf(sitting: Sitting, size: Size): Promise<Section> {
  const what = `Cold start, ${sizeText(size)}`;
  const costs = new Map<string, Costs>();
  const columns = await inTurn(sitting, what, [tetherUp, controllerManager], (stage, contender) =>
    measure(sitting, stage, size, contender, costs),
  );
  return {
    title: what,
    intro:
      `${sizeText(size)} Services and workloads (for kube-controller-manager: Pods) are there before ` +
      'the command starts. Time counts from the start of the process until an observer’s watch has ' +
      'shown every Service right: each address once, ready, nothing else.',
    rows: ROWS,
    columns,
    ratio: true,
    notes: [...costs].flatMap(([title, cost]) => costNotes(title, cost)),
    bars: barsOf(size, columns),
  };
}

const ROWS: Section['rows'] = [
  { id: 'rate', label: 'Services a second', digits: 0 },
  { id: 'share', label: 'of the ceiling (JSON)', digits: 2 },
  { id: 'seconds', label: 'seconds until all are right', digits: 2 },
  { id: 'serving', label: 'ms until it serves its port, by its log', digits: 0 },
  { id: 'synced', label: 'ms until its view is in sync, by its log', digits: 0 },
  { id: 'first', label: 'ms until the first slice', digits: 0 },
  { id: 'rateAfterFirst', label: 'Services a second, from the first slice on', digits: 0 },
  ...costRows('Service'),
];

async function measure(
  sitting: Sitting,
  stage: Stage,
  size: Size,
  contender: Contender,
  last: Map<string, Costs>,
): Promise<Figures> {
  const world = worldOf(sitting, stage, size, contender.backing);
  await prepare(sitting, stage, world);
  const endCosts = await beginCosts(stage);
  return withRunning(await contender.start(stage), async (running) => {
    const { rightAt, firstAt } = await stage.agent.untilRight(sitting.sizes.timeoutMs);
    const costs = await endCosts(running);
    last.set(contender.title, costs);
    const ms = rightAt - running.startedAt;
    const rate = world.services / (ms / 1000);
    const limit = sitting.ceilings.get(world.services);
    sitting.say(`  ${ms.toFixed(0)} ms: ${rate.toFixed(0)} Services a second`);
    return {
      rate,
      share: limit === undefined ? undefined : rate / limit,
      seconds: ms / 1000,
      first: firstAt - running.startedAt,
      rateAfterFirst: world.services / ((rightAt - firstAt) / 1000),
      ...startUp(running),
      ...costFigures(costs, world.services),
    };
  });
}

/** What the log tells of the start, in ms from the making of the process. */
function startUp(running: RunningContender): Figures {
  const after = (message: string): number | undefined => {
    const at = logged(running.log(), message)?.['time'];
    return typeof at === 'string' ? Date.parse(at) - running.startedAtWall : undefined;
  };
  return { serving: after('serving'), synced: after('ready') };
}

function barsOf(size: Size, columns: readonly Column[]): Bar[] {
  const start = `Cold start, ${sizeText(size)}`;
  const what = `${start}: Services a second`;
  return noWorse({ what, columns, id: 'rate', digits: 0, better: 'higher', times: OF_THE_PEER });
}

/** Start-up included, which costs an interpreted language more. */
const OF_THE_PEER = 0.9;
