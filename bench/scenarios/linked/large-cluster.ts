import { monotonicMs } from '../../clock.ts';
import { untilAnswers, WATCHES, untilHolds, type LinkedRun } from '../../linked/linked-run.ts';
import type { LinkedPart } from '../../linked/part.ts';
import { parseStatus, readProc } from '../../measure/proc.ts';
import { atMost } from '../bars.ts';
import { sizeText } from '../worlds.ts';

const LARGE = 'large';
const FIRST = { id: 'first', label: 'seconds from the Secret to the first answer', digits: 2 };
const MORE = { id: 'more', label: 'more memory of the watcher (peak), MiB', digits: 0 };

/** One linked cluster with many Services. */
export const largeCluster: LinkedPart = {
  title: ({ large }) => `A large cluster, ${sizeText(large)}`,
  intro: ({ large }) =>
    `A double with ${sizeText(large)} Services and endpoints is linked beside the others. Time counts ` +
    'from the creation of its Secret until a look-up of one of its Services is answered. Memory is the ' +
    'peak of the watcher that took it, against the resident memory of that process before.',
  rows: [
    FIRST,
    { id: 'watching', label: 'seconds until it is watched', digits: 2 },
    MORE,
    { id: 'left', label: 'more memory of the watcher half a second later, MiB', digits: 0 },
    { id: 'before', label: 'memory of the watcher before, MiB', digits: 0 },
  ],
  columns: ['Tether'],
  measure: async (run) => {
    const { doubles, secrets, sizes } = run;
    const { kubeconfig } = await doubles.make(LARGE, 'good', sizes.large);
    const before = watcherMemory(run);
    const from = monotonicMs();
    await secrets.create(LARGE, kubeconfig);
    const answered = await untilAnswers(run, LARGE);
    const watched = await untilHolds(run, 'the large cluster is watched', async () => {
      return (await doubles.watches(LARGE)) >= WATCHES;
    });
    const peak = growth(before, watcherMemory(run), 'peakMiB');
    await new Promise((resolve) => setTimeout(resolve, 500));
    const left = growth(before, watcherMemory(run), 'nowMiB');
    await secrets.remove(LARGE);
    await untilHolds(run, 'the large cluster is let go', async () => {
      return (await doubles.watches(LARGE)) === 0;
    });
    await doubles.close(LARGE);
    return [
      {
        first: (answered - from) / 1000,
        watching: (watched - from) / 1000,
        more: peak,
        left,
        before: Math.max(...before.map(({ nowMiB }) => nowMiB)),
      },
    ];
  },
  bars: ([ours]) => [
    ...atMost('Large cluster: seconds to the first answer', ours, FIRST, 3),
    ...atMost('Large cluster: more memory of the watcher, MiB', ours, MORE, 80),
  ],
};

type Memory = ReturnType<typeof parseStatus>;

function watcherMemory(run: LinkedRun): Memory[] {
  return run.fleet.watchers.map(({ pid }) => parseStatus(readProc(pid, 'status') ?? ''));
}

/** Of the watcher that grew most: it took the cluster. */
function growth(before: readonly Memory[], after: readonly Memory[], which: keyof Memory): number {
  return Math.max(...after.map((now, nth) => now[which] - (before[nth]?.nowMiB ?? 0)));
}
