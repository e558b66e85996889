import { describe, expect, test } from '@jest/globals';
import { chosenSeed, say } from '../support/churn.ts';
import { runFuzz } from './run.ts';

/** Of the schedule; what the quiet points take comes on top. */
const MINUTES = 1;
const QUIET_EVERY_SECONDS = 12;
/** Starting everything, and quiet points that each wait for the longest backoff (a minute). */
const LIMIT_MS = 600_000;

const seed = chosenSeed();

describe('changes and faults at random for a minute', () => {
  test(
    'lose no change, leave no slice wrong, and let no reader miss an endpoint (queue 2, 5, H2, H3)',
    async () => {
      const report = await runFuzz({
        seed,
        minutes: MINUTES,
        quietEverySeconds: QUIET_EVERY_SECONDS,
        say,
      });
      say(`fuzz: ${JSON.stringify(report)}`);
      // A fuzz that did nothing proves nothing.
      expect(report.faults).toBeGreaterThan(0);
      expect(report.changes).toBeGreaterThan(100);
      expect(report.writes).toBeGreaterThan(20);
      expect(report.states).toBeGreaterThan(20);
      expect(report.refused).toEqual([]);
    },
    LIMIT_MS,
  );
});
