import { setTimeout as delay } from 'node:timers/promises';
import { CHANGED, untilAnswers, untilHolds, WATCHES } from '../../linked/linked-run.ts';
import { addressesOf } from '../../linked/doubles-api.ts';
import type { LinkedPart } from '../../linked/part.ts';
import { percentile } from '../../statistics.ts';
import { monotonicMs } from '../../clock.ts';
import { atMost } from '../bars.ts';

const INCOMPLETE = { id: 'incomplete', label: 'answers that lacked an endpoint', digits: 0 };
const FAILED = { id: 'failed', label: 'answers that were no 200', digits: 0 };

/** Before a rotation, and after the old token is refused, so that the reader meets each side, ms. */
const BETWEEN_MS = 250;

/** Credentials change while somebody reads. */
export const rotation: LinkedPart = {
  title: ({ rotations }) => `Rotation under a reader, ${rotations} times`,
  intro: ({ pollsPerSecond }) =>
    `The token in a cluster’s Secret is replaced again and again while ${pollsPerSecond} look-ups a ` +
    'second read one of its Services. Once the new token is watched with, the old one is refused. Time ' +
    'counts from the change of the Secret until all watches stand for the new token and none for the old.',
  rows: [
    INCOMPLETE,
    FAILED,
    { id: 'answers', label: 'answers', digits: 0 },
    { id: 'longest', label: 'longest wait for an answer, ms', digits: 0 },
    { id: 'switch', label: 'ms from the Secret to the switch', digits: 0 },
  ],
  columns: ['Tether'],
  measure: async (run) => {
    const { reader, doubles, secrets, sizes } = run;
    await untilAnswers(run, CHANGED);
    await reader.startPolling({
      targets: [run.target(CHANGED)],
      perSecond: sizes.pollsPerSecond,
      expected: addressesOf(0, sizes.remote.per).slice(1),
    });
    const took: number[] = [];
    for (let nth = 0; nth < sizes.rotations; nth += 1) {
      await delay(BETWEEN_MS);
      const { token, kubeconfig } = await doubles.addToken(CHANGED);
      const from = monotonicMs();
      await secrets.rotate(CHANGED, kubeconfig);
      const switched = await untilHolds(run, 'the new token is watched with alone', async () => {
        const ours = await doubles.watches(CHANGED, token);
        return ours === WATCHES && (await doubles.watches(CHANGED)) === WATCHES;
      });
      took.push(switched - from);
      await doubles.revokeAllBut(CHANGED, token);
      await delay(BETWEEN_MS);
    }
    const { example, ...outcome } = await reader.stopPolling();
    if (example !== '') process.stderr.write(`  wrong during the rotation: ${example}\n`);
    return [{ ...outcome, switch: percentile(took, 0.5) }];
  },
  bars: ([ours]) => [
    ...atMost('Rotation: answers that lacked an endpoint', ours, INCOMPLETE, 0),
    ...atMost('Rotation: answers that were no 200', ours, FAILED, 0),
  ],
};
