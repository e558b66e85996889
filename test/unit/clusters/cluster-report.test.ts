import { expect, test } from '@jest/globals';
import { createClusterReport } from '../../../functions/cluster-report.ts';
import { silentLogger } from '../../../core/logger.ts';
import { acceptedDecision } from '../../support/accepted-decision.ts';

const NOW = Date.parse('2026-12-01T00:00:00Z');
const DAY_MS = 86_400_000;

/** Events and log lines about a credential that ends after so many ms. */
async function toldOf(leftMs: number | null): Promise<readonly string[]> {
  const told: string[] = [];
  const report = createClusterReport({
    transitions: {
      tell: () => Promise.resolve(),
      tellAll: () => Promise.resolve(),
      tellGone: () => Promise.resolve(),
    },
    events: {
      emit: ({ type, reason, message }) => void told.push(`${type} ${reason}: ${message}`),
    },
    log: { ...silentLogger, warn: (_fields, message) => void told.push(`log: ${message}`) },
    now: () => NOW,
  });
  const expiresAt = leftMs === null ? null : NOW + leftMs;
  await report.decided(acceptedDecision('east', { generation: 1, hash: 'h', expiresAt }));
  return told;
}

test.each([
  ['a week', 7 * DAY_MS, 'Warning ClusterCredentialEndsWithinAWeek', '2026-12-08T00:00:00Z'],
  ['a bit more than a day', DAY_MS + 1, 'Warning ClusterCredentialEndsWithinAWeek', '2026-12-02T'],
  ['a day', DAY_MS, 'Warning ClusterCredentialEndsWithinADay', '2026-12-02T00:00:00Z'],
  ['a moment', 1, 'Warning ClusterCredentialEndsWithinADay', '2026-12-01T00:00:00Z'],
])(
  'a credential that ends in %s is told of by Event and log, once each',
  async (_, left, reason, end) => {
    const [line, event, ...more] = await toldOf(left);
    const said = `the credentials of cluster east end at ${end}`;
    expect(event).toMatch(`${reason}: ${said}`);
    expect(line).toMatch(`log: ${said}`);
    expect(more).toEqual([]);
  },
);

test.each([
  ['in more than a week', 7 * DAY_MS + 1],
  // The decision itself says so.
  ['already', 0],
  ['never, as far as it says', null],
])('one that ends %s is not', async (_, left) => {
  expect(await toldOf(left)).toEqual([]);
});
