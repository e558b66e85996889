import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Queue, type JobsOptions } from 'bullmq';
import { queuePrefix } from '../../core/job.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  workloadPath,
} from '../support/objects.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { openRedis } from '../support/redis.ts';

/*
 * The queue is open to anybody with a BullMQ client, and anybody makes mistakes. One `tether up`
 * meets them all while a Service of its own must go on being served.
 */
const PREFIX = `bad-jobs-${process.pid}`;
let tether: TetherProcess;
let anyone: Queue;
let connection: RedisClient;
let ns: string;

beforeAll(async () => {
  tether = spawnTether(['up', '--redis-prefix', PREFIX], { lifetime: 'file' });
  connection = openRedis();
  anyone = new Queue('service', { connection, prefix: queuePrefix(PREFIX) });
  ns = await freshNamespace('bad-jobs');
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web');
  await tether.untilLog(/"ready"/);
});
afterAll(async () => {
  await anyone.close();
  connection.disconnect();
});

interface Refused {
  readonly reason: string;
  readonly attempts: number;
  readonly bytes: number;
}

/** Waits until the job is among the failed ones for good. */
const refusalOf = (id: string | undefined): Promise<Refused> =>
  eventually(async () => {
    expect(await anyone.getJobState(id ?? '')).toBe('failed');
    const job = await anyone.getJob(id ?? '');
    return {
      reason: job?.failedReason ?? '',
      attempts: job?.attemptsMade ?? 0,
      bytes: JSON.stringify(job?.data ?? null).length,
    };
  });

const MB = 1_000_000;
const BAD: readonly (readonly [what: string, name: string, data: unknown, reason: RegExp])[] = [
  ['another name', 'sync', { key: 'a/b' }, /^the job is named "sync": it must be "reconcile"$/],
  ['no data', 'reconcile', null, /^data must be an object with a key, not null$/],
  ['text', 'reconcile', 'a/b', /^data must be an object with a key, not "a\/b"$/],
  ['no key', 'reconcile', {}, /^key is missing: write it as NAMESPACE\/NAME$/],
  ['a number as key', 'reconcile', { key: 7 }, /^key must be text, NAMESPACE\/NAME, not a number$/],
  ['a key of one part', 'reconcile', { key: 'web' }, /^"web" is not a key: write it as NAMESPACE/],
  ['a key in capitals', 'reconcile', { key: 'ns/Web' }, /^"ns\/Web" is not a key: write it as/],
  ['a path as key', 'reconcile', { key: '../../x' }, /^"\.\.\/\.\.\/x" is not a key: write it as/],
  ['an extra field', 'reconcile', { key: 'a/b', spec: {} }, /^data has an unknown field "spec": /],
  ['a time as text', 'reconcile', { key: 'a/b', at: 'now' }, /^at must be a time in ms since 1970/],
  ['a key of 1 MB', 'reconcile', { key: `a/${'k'.repeat(MB)}` }, /has 1000002 characters: at most/],
  ['an extra 1 MB', 'reconcile', { key: 'a/b', x: 'x'.repeat(MB) }, /unknown field "x": only key/],
];

describe('a bad job', () => {
  it.each(BAD)(
    'with %s fails once, with the reason, and is kept',
    async (_, name, data, reason) => {
      const options: JobsOptions = { attempts: 9, backoff: 10, removeOnFail: true };
      const { id } = await anyone.add(name, data, options);
      const refused = await refusalOf(id);
      expect(refused.reason).toMatch(reason);
      expect(refused.reason.length).toBeLessThan(250);
      expect(refused.attempts).toBe(1);
      expect(refused.bytes).toBeLessThan(5_000);
      const line = new RegExp(`^.*"job":"${id}".*is refused.*$`, 'm');
      expect((await tether.untilLog(line))[0]).toContain('"level":"warn"');
    },
  );

  it('is listed by `tether status` with its reason', async () => {
    const { code, stdout } = await runTether(['status', '--redis-prefix', PREFIX, '-o', 'json']);
    expect(code).toBe(0);
    const { queues, refused } = JSON.parse(stdout) as {
      readonly queues: { readonly service: { readonly failed: number } };
      readonly refused: readonly { readonly reason: string }[];
    };
    expect(queues.service.failed).toBe(BAD.length);
    const reasons = refused.map((job) => job.reason);
    expect(reasons.some((reason) => reason.includes('1000002 characters'))).toBe(true);
  });

  it('hurts nothing else: changes before, between and after are followed', async () => {
    for (const last of [21, 22, 23]) {
      await Promise.all(BAD.map(([, name, data]) => anyone.add(name, data)));
      const spec = { workloadIPs: [{ ip: `192.0.2.${last}` }] };
      await mergePatch(workloadPath(ns, 'vm'), { spec });
      await eventually(async () => {
        expect(await endpointsOf(ns, 'web')).toEqual([`192.0.2.${last} 8080 ready`]);
      });
    }
    expect(tether.stdout() + tether.stderr()).not.toMatch(/"level":"error"|^ +at |"stack"/m);
  });

  it('is one that names what does not exist? That is no fault: there is nothing to do', async () => {
    for (const key of ['no-such-namespace/web', `${ns}/no-such-service`]) {
      const reconcile = ['reconcile', 'service', key, '--wait', '--redis-prefix', PREFIX];
      const { code, stdout, stderr } = await runTether(reconcile);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/: nothing to write; 0 of 0 endpoints ready in 0 slices\n$/);
    }
  });
});
