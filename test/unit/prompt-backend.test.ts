import { beforeEach, describe, expect, test } from '@jest/globals';
import { promptBackend } from '../../platform/redis/queue/prompt-backend.ts';

/** BullMQ's backend as far as it is used: what was asked of it, and what it answers. */
type Factory = Parameters<typeof promptBackend>[0];
type Backend = ReturnType<Factory>;

const MARKER = { member: '0', score: 0 };

let asked: string[];
let jobs: string[];
let markers: (typeof MARKER)[];
let turns: number;
let backend: Backend;

beforeEach(() => {
  asked = [];
  jobs = [];
  markers = [];
  turns = 0;
  const real = {
    waitForJob: async (seconds: number) => {
      asked.push(`wait ${seconds}`);
      return markers.shift() ?? null;
    },
    moveToActive: async () => {
      const job = jobs.shift();
      asked.push(`look: ${job ?? 'none'}`);
      return job === undefined ? [] : [{ name: job }, job, 0, 0];
    },
  };
  const create = (() => real as unknown as Backend) as unknown as Factory;
  const factory = promptBackend(create, () => (turns += 1));
  backend = factory(...([] as unknown as Parameters<Factory>));
});

/** As an idle worker of BullMQ does: waits, and looks until there is none. Gives what it took. */
async function turn(): Promise<string[]> {
  await backend.waitForJob(10);
  const taken: string[] = [];
  for (;;) {
    const [job, id] = (await backend.moveToActive('token')) as [unknown, string];
    if (!job) return taken;
    taken.push(id);
  }
}

describe('an idle worker', () => {
  test('starts the job that woke it before it asks for another', async () => {
    markers = [MARKER];
    jobs = ['a', 'b', 'c'];
    expect(await turn()).toEqual(['a']);
    expect(asked).toEqual(['wait 1', 'look: a']);
  });

  test('makes up for the look at its next turn, without waiting', async () => {
    markers = [MARKER];
    jobs = ['a', 'b', 'c'];
    await turn();
    expect(await turn()).toEqual(['b', 'c']);
    expect(asked).toEqual(['wait 1', 'look: a', 'look: b', 'look: c', 'look: none']);
    await turn();
    expect(asked.at(-2)).toBe('wait 1');
  });

  test('puts nothing off when it found nothing, or when nothing woke it', async () => {
    markers = [MARKER];
    await turn();
    jobs = ['a'];
    expect(await turn()).toEqual(['a']);
    expect(asked).toEqual(['wait 1', 'look: none', 'wait 1', 'look: a', 'look: none']);
  });

  test('blocks for a second at most, and shows each turn', async () => {
    await backend.waitForJob(10);
    await backend.waitForJob(0.2);
    expect(asked).toEqual(['wait 1', 'wait 0.2']);
    expect(turns).toBe(2);
  });
});
