import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Queue } from 'bullmq';
import { InvalidInputError } from '../../../core/errors.ts';
import { jobData, JOB_NAME, parseJob, queuePrefix } from '../../../core/job.ts';
import { eventually } from '../../support/eventually.ts';
import { openHarness, type QueueHarness } from '../../support/queue-harness.ts';

const key = 'ns1/web';
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

function refusal(name: string, data: unknown): InvalidInputError {
  try {
    parseJob(name, data);
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
  throw new Error('the job was accepted');
}

describe('a job', () => {
  test.each([
    ['a key alone', { key }],
    ['a reason', { key, reason: 'workload vm-1 changed' }],
    ['a time', { key, at: 1_700_000_000_000 }],
    ['the trace that it belongs to', { key, trace: TRACE }],
    ['a time with a fraction, as Python has it', { key, at: 1_700_000_000_000.25 }],
  ])('is accepted with %s', (_, data) => {
    expect(parseJob(JOB_NAME, data)).toEqual({ ...data, key: { namespace: 'ns1', name: 'web' } });
  });

  test.each([
    ['another name', 'name', 'reconcile-all', { key }],
    ['no data', 'data', JOB_NAME, null],
    ['a list as data', 'data', JOB_NAME, [key]],
    ['text as data', 'data', JOB_NAME, key],
    ['no key', 'key', JOB_NAME, {}],
    ['a number as key', 'key', JOB_NAME, { key: 7 }],
    ['a key without a namespace', 'key', JOB_NAME, { key: 'web' }],
    ['a key of three parts', 'key', JOB_NAME, { key: 'a/b/c' }],
    ['a key in capitals', 'key', JOB_NAME, { key: 'NS1/web' }],
    ['a key with a line feed', 'key', JOB_NAME, { key: 'ns1/web\n' }],
    ['an endless key', 'key', JOB_NAME, { key: `ns1/${'a'.repeat(1_000_000)}` }],
    ['a reason that is no text', 'reason', JOB_NAME, { key, reason: { why: 'x' } }],
    ['an endless reason', 'reason', JOB_NAME, { key, reason: 'x'.repeat(1001) }],
    ['a time as text', 'at', JOB_NAME, { key, at: '2026-01-01' }],
    ['a time before 1970', 'at', JOB_NAME, { key, at: -1 }],
    ['a time that is none', 'at', JOB_NAME, { key, at: NaN }],
    ['a trace that is none', 'trace', JOB_NAME, { key, trace: 'abc' }],
    ['a trace with something behind it', 'trace', JOB_NAME, { key, trace: `${TRACE}-x` }],
    [
      'a trace without an id',
      'trace',
      JOB_NAME,
      { key, trace: `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01` },
    ],
    ['a misspelt field', 'Reason', JOB_NAME, { key, Reason: 'x' }],
    [
      'an object that has no business in Redis',
      'service',
      JOB_NAME,
      { key, service: { spec: {} } },
    ],
  ])('is refused with %s, and the field is named', (_, field, name, data) => {
    const error = refusal(name, data);
    expect(error.field).toBe(field);
    expect(error.message).toContain(field);
    expect(error.message.length).toBeLessThan(250);
  });

  test('of 1 MB is refused with a message that quotes at most 80 characters of it', () => {
    for (const data of [{ key: 'k'.repeat(1e6) }, { ['f'.repeat(1e6)]: 1, key }, 'd'.repeat(1e6)]) {
      const { message, field } = refusal(JOB_NAME, data);
      expect(Math.max(...message.split(/[^kfd…]/).map((part) => part.length))).toBeLessThanOrEqual(
        81,
      );
      expect(field.length).toBeLessThanOrEqual(80);
    }
  });

  test('is checked on the side of the producer too', () => {
    const job = { key: { namespace: 'ns1', name: 'Web' } };
    expect(() => jobData(job)).toThrow(InvalidInputError);
  });
});

describe('a job that does not fit', () => {
  let harness: QueueHarness;
  let anyone: Queue;
  beforeAll(async () => {
    harness = await openHarness();
    anyone = new Queue('service', {
      connection: harness.redis,
      prefix: queuePrefix(harness.prefix),
    });
  });
  afterAll(async () => {
    await anyone.close();
    await harness.close();
  });

  test('fails at once and for good, is kept with its reason, and hurts no other job', async () => {
    harness.startWorker();
    const added = [
      await anyone.add('reconcile', { key: 'no key' }, { attempts: 5, backoff: 1 }),
      await anyone.add('reconcile', { key, kubeconfig: 'x'.repeat(1e6) }),
      await anyone.add('other', { key }),
    ];
    await anyone.add('reconcile', { key });
    await harness.untilSeen(key, 'end', 1);
    const failed = await eventually(async () => {
      const jobs = await harness.queue.failedJobs(10);
      expect(jobs).toHaveLength(3);
      return jobs;
    });
    const reasons = new Map(failed.map(({ id, reason }) => [id, reason]));
    expect(reasons.get(added[0]?.id ?? '')).toContain('NAMESPACE/NAME');
    expect(reasons.get(added[1]?.id ?? '')).toContain('kubeconfig');
    expect(reasons.get(added[2]?.id ?? '')).toContain('"other"');
    expect(await harness.seen()).toHaveLength(2);
  });

  test('takes no megabyte of Redis for being kept', async () => {
    const [job] = (await anyone.getFailed()).filter(({ failedReason }) =>
      failedReason.includes('kubeconfig'),
    );
    expect(JSON.stringify(job?.data).length).toBeLessThan(1000);
  });

  test('tells whoever waits for it', async () => {
    const job = await anyone.add('reconcile', { key: 'no key' });
    const report = await harness.queue.waitFor(job.id ?? '', { timeoutMs: 10_000 });
    expect(report).toEqual({ kind: 'failed', reason: expect.stringContaining('no key') });
  });
});
