import { freePort } from '../../../platform/process/free-port.ts';
import { logged } from '../../contenders/tether.ts';
import { startFleet, type RunningFleet } from '../../contenders/fleet.ts';
import { untilAnswers, untilHolds, type LinkedRun } from '../../linked/linked-run.ts';
import type { CpuMark } from '../../measure/usage.ts';
import type { LinkedPart } from '../../linked/part.ts';
import type { LinkedSizes } from '../../linked/sizes.ts';
import type { Figures } from '../../report/section.ts';
import { withRunning } from '../../sitting.ts';
import type { Stage } from '../../stage.ts';
import { atMost, noWorse } from '../bars.ts';
import { sizeText } from '../worlds.ts';

const READY = { id: 'ready', label: 'seconds until both watchers are ready', digits: 2 };
const ALL = { id: 'all', label: 'seconds until every good cluster answers', digits: 2 };
const LOCAL = { id: 'local', label: 'seconds until every local slice is right', digits: 2 };

const goodOf = ({ real, good }: LinkedSizes): number => real + good;
const badOf = ({ blackHoles, refusing, garbage }: LinkedSizes): number =>
  blackHoles + refusing + garbage;

/** All processes start while many clusters are linked, some of them broken. */
export const fifty: LinkedPart = {
  title: (sizes) => `Start with ${goodOf(sizes) + badOf(sizes)} linked clusters`,
  intro: (sizes) =>
    `${goodOf(sizes)} clusters that answer (${sizes.real} of them behind real API servers), ` +
    `${sizes.blackHoles} that take connections and never say a word, ${sizes.refusing} that refuse ` +
    `every request with 401 and ${sizes.garbage} that answer with damaged JSON. Two watchers, a worker ` +
    'and a look-up process start at once; time counts from the making of the first. Meanwhile ' +
    `${sizeText(sizes.local)} local Services and workloads get their slices; the second column is that ` +
    'alone: the same processes, and no Secret.',
  rows: [
    READY,
    { id: 'first', label: 'seconds until the first cluster answers', digits: 2 },
    ALL,
    LOCAL,
    { id: 'cpuWatcher', label: 'CPU seconds of the watchers', digits: 1 },
    { id: 'cpuWorker', label: 'CPU seconds of the worker', digits: 1 },
    { id: 'cpuLookup', label: 'CPU seconds of the look-up process', digits: 1 },
    { id: 'cpuRedis', label: 'CPU seconds of Redis', digits: 1 },
    { id: 'cpuDoubles', label: 'CPU seconds of the doubles, which others would have', digits: 1 },
    { id: 'cpuApi', label: 'CPU seconds of the API servers', digits: 1 },
    { id: 'peakWatcher', label: 'peak memory of a watcher, MiB', digits: 0 },
  ],
  columns: ['linked', 'none linked'],
  measure: async (run) => {
    const { fleet, stage } = run;
    const before = stage.usage.mark();
    const [local, answered] = await Promise.all([
      stage.agent.untilRight(run.timeoutMs),
      untilEachAnswers(run),
    ]);
    const after = answered.map((at) => (at - fleet.startedAt) / 1000);
    const local_ = { local: (local.rightAt - fleet.startedAt) / 1000 };
    return [
      {
        ...(await common(stage, fleet, before)),
        ...local_,
        first: Math.min(...after),
        all: Math.max(...after),
      },
    ];
  },
  alone: async (sitting, stage) => {
    const before = stage.usage.mark();
    const lookupPorts = [await freePort()];
    const fleet = await startFleet(stage, { watchers: 2, workers: 1, lookupPorts });
    return withRunning(fleet, async () => {
      const { rightAt } = await stage.agent.untilRight(sitting.sizes.timeoutMs);
      return { ...(await common(stage, fleet, before)), local: (rightAt - fleet.startedAt) / 1000 };
    });
  },
  bars: (columns) => [
    ...atMost('Start: seconds until the watchers are ready', columns[0], READY, 10),
    ...atMost('Start: seconds until every good cluster answers', columns[0], ALL, 10),
    ...noWorse({
      what: 'Start: seconds until every local slice is right',
      columns,
      id: LOCAL.id,
      digits: LOCAL.digits,
      better: 'lower',
      times: NOISE,
    }),
  ],
};

const POLL_MS = 50;
/** Two runs of the same differ by about so much. */
const NOISE = 1.15;

/** When each good cluster answered first. The list says whom to ask: to ask all of them would be a load. */
async function untilEachAnswers(run: LinkedRun): Promise<number[]> {
  const waiting = new Set(run.good);
  const answers: Promise<number>[] = [];
  const look = async (): Promise<boolean> => {
    for (const cluster of await answeringOf(run)) {
      if (waiting.delete(cluster)) answers.push(untilAnswers(run, cluster));
    }
    return waiting.size === 0;
  };
  await untilHolds(run, 'every good cluster is said to answer', look, POLL_MS);
  return Promise.all(answers);
}

interface Listed {
  readonly clusters: readonly { readonly cluster: string; readonly answers: boolean }[];
}

/** Clusters that the look-up process says that it answers for. */
async function answeringOf(run: LinkedRun): Promise<string[]> {
  const target = { ...run.target(''), path: '/v1/clusters' };
  const { status, body } = await run.reader.ask(target);
  if (status !== 200) return [];
  const { clusters } = JSON.parse(body) as Listed;
  return clusters.filter(({ answers }) => answers).map(({ cluster }) => cluster);
}

/** What both columns tell, taken once all is there. */
async function common(stage: Stage, fleet: RunningFleet, before: CpuMark): Promise<Figures> {
  const cpu = stage.usage.cpuSince(before);
  return {
    ready: Math.max(...fleet.watchers.map((watcher) => readyAt(watcher.log(), fleet))),
    cpuWatcher: cpu.get('watcher'),
    cpuWorker: cpu.get('worker'),
    cpuLookup: cpu.get('lookup'),
    cpuRedis: cpu.get('Redis'),
    cpuDoubles: cpu.get('doubles'),
    cpuApi: cpu.get('API server'),
    peakWatcher: stage.usage.memory().get('watcher')?.peakMiB,
  };
}

function readyAt(log: string, fleet: RunningFleet): number {
  const at = logged(log, 'ready')?.['time'];
  return typeof at === 'string' ? (Date.parse(at) - fleet.startedAtWall) / 1000 : NaN;
}
