import { CHANGED, untilAnswers } from '../../linked/linked-run.ts';
import type { LinkedPart } from '../../linked/part.ts';
import { monotonicMs } from '../../clock.ts';
import { percentile } from '../../statistics.ts';
import { atMost } from '../bars.ts';

const WORST = {
  id: 'worst',
  label: 'ms from a change to the last subscriber, worst round',
  digits: 0,
};
const RSS = { id: 'rss', label: 'memory of the look-up process (peak), MiB', digits: 0 };
const LOST = { id: 'lost', label: 'watches that ended by themselves', digits: 0 };

/** Very many who watch the same Service on one look-up process. */
export const subscribers: LinkedPart = {
  title: ({ subscribers: count }) => `${count.toLocaleString('en-US')} subscribers of one process`,
  intro: ({ rounds }) =>
    'So many watches of one Service are opened on one look-up process. Then one change is made in the ' +
    `linked cluster, ${rounds} times, and each time all must have its event. The clients’ own share of ` +
    'the machine is in it: they read every event in one other process.',
  rows: [
    { id: 'open', label: 'seconds until all had their first event', digits: 1 },
    { id: 'median', label: 'ms from a change to the last subscriber, median round', digits: 0 },
    WORST,
    { id: 'first', label: 'ms from a change to the first subscriber, median round', digits: 1 },
    RSS,
    LOST,
  ],
  columns: ['Tether'],
  measure: async (run) => {
    const { reader, doubles, sizes, stage } = run;
    await untilAnswers(run, CHANGED);
    const from = monotonicMs();
    await reader.subscribe(run.target(CHANGED, '?watch=true'), sizes.subscribers);
    const open = (monotonicMs() - from) / 1000;
    const first: number[] = [];
    const last: number[] = [];
    for (let round = 0; round < sizes.rounds; round += 1) {
      const [change] = await doubles.change({ cluster: CHANGED, perSecond: 1, seconds: 1 });
      if (change === undefined) continue;
      const seen = await reader.untilSeen(change.address, run.timeoutMs);
      first.push(seen.first - change.at);
      last.push(seen.last - change.at);
    }
    const rss = stage.usage.memory().get('lookup')?.peakMiB;
    const lost = await reader.unsubscribe();
    const worst = Math.max(...last);
    const [middle, firstMiddle] = [percentile(last, 0.5), percentile(first, 0.5)];
    return [{ open, median: middle, worst, first: firstMiddle, rss, lost }];
  },
  bars: ([ours]) => [
    ...atMost('Subscribers: ms until all have a change', ours, WORST, 1_000),
    ...atMost('Subscribers: memory of the process, MiB', ours, RSS, 600),
    ...atMost('Subscribers: watches that ended by themselves', ours, LOST, 0),
  ],
};
