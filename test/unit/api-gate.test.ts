import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError, LockLostError, UnreachableError } from '../../core/errors.ts';
import { silentLogger } from '../../core/logger.ts';
import type { Outcome } from '../../core/outcome.ts';
import { ApiGate, excuseOutage, OUTAGE_RETRY_MS, type Outage } from '../../functions/api-gate.ts';
import type { ServerHealth } from '../../platform/kube/server-health.ts';
import { eventually } from '../support/eventually.ts';

const ANSWERS: ServerHealth = { kind: 'answers' };
const AWAY: ServerHealth = { kind: 'away', reason: 'the connection was refused' };
const STARTING: ServerHealth = { kind: 'starting', reason: 'it says that it is not ready yet' };

const unreachable = new UnreachableError('update endpointslices a/b', new Error('reset'));
const refused = (status: number): ApiError =>
  new ApiError('update endpointslices a/b', { status, reason: '', message: '', causes: [] });

/** Given out in turn, the last one for ever. */
let answers: ServerHealth[];
let asked: number;
let now: number;
let told: (Outage | null)[];
let gate: ApiGate;
beforeEach(() => {
  answers = [ANSWERS];
  asked = 0;
  now = 1_000_000;
  told = [];
  gate = new ApiGate({
    ask: async () => {
      asked += 1;
      const [health = ANSWERS] = answers.length > 1 ? answers.splice(0, 1) : answers;
      return health;
    },
    onChange: (outage) => void told.push(outage),
    log: silentLogger,
    monotonicMs: () => now,
    random: () => 0,
  });
});
afterEach(() => gate.stop());

/** Each is far from the one before. */
async function fails(error: unknown): Promise<boolean> {
  now += 1_000;
  return gate.explains(error);
}

describe('the gate before the queue', () => {
  it('stays open while the server answers, however much of one key fails', async () => {
    for (const error of [unreachable, refused(502), refused(503), refused(504)]) {
      expect(await fails(error)).toBe(false);
    }
    expect({ asked, told, outage: gate.outage }).toEqual({ asked: 4, told: [], outage: null });
  });

  it('asks nothing about what a server says that is there', async () => {
    answers = [AWAY];
    const said = [400, 401, 403, 404, 409, 410, 422, 429, 500].map(refused);
    for (const error of [...said, new LockLostError('a/b'), undefined]) {
      expect(await fails(error)).toBe(false);
    }
    expect(asked).toBe(0);
  });

  it('is shut when the health of the server cannot be had either, and opens when it can', async () => {
    answers = [AWAY, AWAY, ANSWERS];
    expect(await fails(unreachable)).toBe(true);
    expect(gate.outage).toMatchObject({ reason: AWAY.reason });
    await eventually(() => expect(gate.outage).toBe(null));
    expect(told).toEqual([{ reason: AWAY.reason, since: 1_001_000 }, null]);
    expect(asked).toBe(3);
  });

  it('asks once for all failures of a moment', async () => {
    now += 1_000;
    const all = Array.from({ length: 64 }, () => gate.explains(unreachable));
    expect(await Promise.all(all)).toEqual(Array.from({ length: 64 }, () => false));
    expect(await gate.explains(unreachable)).toBe(false);
    expect(asked).toBe(1);
  });

  it('waits for a server that answers and is not ready yet', async () => {
    answers = [AWAY, STARTING, STARTING, ANSWERS];
    await fails(unreachable);
    await eventually(() => expect(gate.outage).toBe(null));
    expect(told.map((outage) => outage?.reason)).toEqual([AWAY.reason, STARTING.reason, undefined]);
  });

  it('for ten seconds, and then tries it all the same', async () => {
    answers = [STARTING];
    expect(await fails(unreachable)).toBe(true);
    await eventually(() => expect(asked).toBeGreaterThanOrEqual(2));
    expect(gate.outage).not.toBe(null);
    now += 10_000;
    await eventually(() => expect(gate.outage).toBe(null));
    expect(await fails(unreachable)).toBe(false);
  });

  it('waits anew for a server that starts again, long after it was not ready before', async () => {
    answers = [STARTING];
    await fails(unreachable);
    await eventually(() => expect(asked).toBeGreaterThanOrEqual(2));
    now += 10_000;
    await eventually(() => expect(gate.outage).toBe(null));
    now += 3_600_000;
    expect(await fails(unreachable)).toBe(true);
    expect(gate.outage).toMatchObject({ reason: STARTING.reason });
  });

  it('knows for three seconds that an outage is just over', async () => {
    expect(gate.justOver).toBe(false);
    answers = [AWAY, ANSWERS];
    await fails(unreachable);
    expect(gate.justOver).toBe(false);
    await eventually(() => expect(gate.outage).toBe(null));
    expect(gate.justOver).toBe(true);
    now += 3_000;
    expect(gate.justOver).toBe(false);
  });
});

describe('a failed run', () => {
  const failed: Outcome = { kind: 'retry', failure: true, reason: 'reset', error: unreachable };

  it('is the key’s while the server answers', async () => {
    expect(await excuseOutage(failed, gate)).toBe(failed);
  });

  it('is nobody’s during an outage, and the key comes again soon', async () => {
    answers = [AWAY];
    expect(await excuseOutage(failed, gate)).toEqual({
      ...failed,
      failure: false,
      afterMs: OUTAGE_RETRY_MS,
    });
  });

  it('is the key’s where nobody watches for outages', async () => {
    expect(await excuseOutage(failed, undefined)).toBe(failed);
  });
});
