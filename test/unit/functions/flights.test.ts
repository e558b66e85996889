import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createFlights } from '../../../functions/flights.ts';

/** Runs that end when the test says so. */
function openRuns() {
  const runs: PromiseWithResolvers<number>[] = [];
  return {
    runs,
    start: () => {
      const run = Promise.withResolvers<number>();
      runs.push(run);
      return run.promise;
    },
  };
}

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('whoever asks while a key runs shares the next run, and not the one under way', async () => {
  const { runs, start } = openRuns();
  const flights = createFlights<number>();
  const first = flights.ask('a', start);
  const later = [flights.ask('a', start), flights.ask('a', start), flights.ask('a', start)];
  await settled();
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(1);
  expect(await first).toBe(1);
  await settled();
  expect(runs).toHaveLength(2);
  runs[1]?.resolve(2);
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
});

test('whenever it is asked for, a run begins after that, and never two at once', async () => {
  const wait = fc.integer({ min: 0, max: 4 });
  /** Lets so many turns of the microtask queue go by, and sometimes one of the event loop. */
  const pause = async (turns: number): Promise<void> => {
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    if (turns === 4) await settled();
  };
  const plan = fc.record({ asks: fc.array(wait, { maxLength: 12 }), runs: fc.array(wait) });
  await fc.assert(
    fc.asyncProperty(plan, async ({ asks, runs }) => {
      let clock = 0;
      let count = 0;
      let active = 0;
      const start = async (): Promise<number> => {
        expect((active += 1)).toBe(1);
        const begun = (clock += 1);
        await pause(runs[(count += 1) % Math.max(1, runs.length)] ?? 1);
        active -= 1;
        return begun;
      };
      const flights = createFlights<number>();
      const answers: Promise<void>[] = [];
      for (const turns of asks) {
        await pause(turns);
        const asked = (clock += 1);
        const answer = flights.ask('a', start);
        answers.push(answer.then((begun) => expect(begun).toBeGreaterThan(asked)));
      }
      await Promise.all(answers);
      await settled();
      expect([count <= asks.length, flights.active]).toEqual([true, 0]);
    }),
  );
});

test('a run that fails fails for those who asked for it, and the next one goes on', async () => {
  const { runs, start } = openRuns();
  const flights = createFlights<number>();
  const first = flights.ask('a', start);
  const second = flights.ask('a', start);
  runs[0]?.reject(new Error('broken'));
  await expect(first).rejects.toThrow('broken');
  await settled();
  runs[1]?.resolve(2);
  expect(await second).toBe(2);
});

test('keys do not wait for one another, and nothing is kept of those that are done', async () => {
  const { runs, start } = openRuns();
  const flights = createFlights<number>();
  void flights.ask('a', start);
  void flights.ask('b', start);
  void flights.ask('b', start);
  expect([runs.length, flights.active]).toEqual([2, 2]);
  const idle = flights.idle();
  runs[0]?.resolve(1);
  runs[1]?.resolve(1);
  await settled();
  expect([runs.length, flights.active]).toEqual([3, 1]);
  runs[2]?.resolve(1);
  await idle;
  expect(flights.active).toBe(0);
});
