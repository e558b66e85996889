import { setTimeout as delay } from 'node:timers/promises';
import { CHANGED, REAL, untilAnswers, type LinkedRun } from '../../linked/linked-run.ts';
import type { Change } from '../../linked/doubles-api.ts';
import type { LinkedPart } from '../../linked/part.ts';
import type { Figures } from '../../report/section.ts';
import { percentile } from '../../statistics.ts';
import { atMost } from '../bars.ts';

const P50 = { id: 'p50', label: 'p50, ms', digits: 1 };
const P99 = { id: 'p99', label: 'p99, ms', digits: 1 };
const MISSING = { id: 'missing', label: 'changes never seen', digits: 0 };
const SUPERSEDED = { id: 'superseded', label: 'changes shown with the next one alone', digits: 0 };

/** From a change on the other side to the event of somebody who watches a look-up. */
export const remoteChange: LinkedPart = {
  title: ({ changes }) => `Remote change, ${changes.perSecond} a second`,
  intro: ({ changes }) =>
    `One address of a slice in a linked cluster is replaced ${changes.perSecond} times a second for ` +
    `${changes.seconds} s, and a client watches the Service’s endpoints. With the double, time counts ` +
    'from the change in its memory; with a real API server from just before the request, so that its ' +
    'write to etcd is in it. The last column is what that API server’s own watch shows of those same ' +
    'changes: nobody could be faster.',
  rows: [P50, { id: 'p90', label: 'p90, ms', digits: 1 }, P99, MISSING, SUPERSEDED],
  columns: ['double', 'kube-apiserver', 'its own watch'],
  measure: async (run) => {
    const { reader, doubles, sizes } = run;
    const { perSecond, seconds } = sizes.changes;
    await subscribeTo(run, CHANGED);
    const made = await doubles.change({ cluster: CHANGED, ...sizes.changes });
    const double = await figuresOf(run, made);
    await subscribeTo(run, REAL);
    const { changes, told } = await reader.changeReal(run.real[0] ?? '', perSecond, seconds);
    const real = await figuresOf(run, changes);
    return [double, real, figures(changes, told)];
  },
  bars: ([double, real]) => [
    ...atMost('Remote change to event (double): p50, ms', double, P50, 10),
    ...atMost('Remote change to event (double): p99, ms', double, P99, 50),
    ...atMost('Remote change to event (double): never seen', double, MISSING, 0),
    ...atMost('Remote change to event (kube-apiserver): p99, ms', real, P99, 50),
    ...atMost('Remote change to event (kube-apiserver): never seen', real, MISSING, 0),
  ],
};

/** Long enough for the last change's event. */
const LAST_EVENT_MS = 500;

async function subscribeTo(run: LinkedRun, cluster: string): Promise<void> {
  await untilAnswers(run, cluster);
  await run.reader.subscribe(run.target(cluster, '?watch=true'), 1);
  await run.reader.sightings();
}

async function figuresOf(run: LinkedRun, changes: readonly Change[]): Promise<Figures> {
  await delay(LAST_EVENT_MS);
  const seen = await run.reader.sightings();
  await run.reader.unsubscribe();
  return figures(
    changes,
    seen.map(({ address, first }) => ({ address, at: first })),
  );
}

/**
 * A change is seen with the first event that shows it or a later one: of two that come close together
 * an event may show the second alone.
 */
function figures(changes: readonly Change[], seen: readonly Change[]): Figures {
  const at = new Map(seen.map((one) => [one.address, one.at]));
  const latencies: number[] = [];
  let superseded = 0;
  let shownAt = Infinity;
  for (const one of changes.toReversed()) {
    const own = at.get(one.address);
    if (own === undefined) superseded += 1;
    shownAt = Math.min(shownAt, own ?? Infinity);
    if (shownAt < Infinity) latencies.push(shownAt - one.at);
  }
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((p) => percentile(latencies, p));
  const missing = changes.length - latencies.length;
  return { p50, p90, p99, missing, superseded: superseded - missing };
}
