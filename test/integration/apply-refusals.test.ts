import { describe, expect, test } from '@jest/globals';
import { ApiError, LockUnknownError, UnreachableError } from '../../core/errors.ts';
import { silentLogger } from '../../core/logger.ts';
import type { Outcome } from '../../core/outcome.ts';
import { createServiceHandler } from '../../functions/worker.ts';
import { createKubeClient } from '../../platform/kube/client.ts';
import { createEndpointApi } from '../../platform/kube/endpoint-api.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { createMetrics } from '../../platform/telemetry/metrics.ts';
import { api, apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  remove,
  setReady,
  slicesOf,
  slicesPath,
} from '../support/objects.ts';
import { reconcileRig, refusal } from '../support/reconcile-rig.ts';
import { fromRun } from '../support/run.ts';

const rig = reconcileRig();

/** Two port groups: a plan of two creates that have nothing to do with each other. */
async function twoSlicesToCome(): Promise<void> {
  await createService(rig.ns, 'web', {
    spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  });
  await createWorkload(rig.ns, 'a', 'web', { ips: ['192.0.2.1'] });
  const ports = [{ name: 'http', port: 9090, protocol: 'TCP' }];
  await createWorkload(rig.ns, 'b', 'web', { ips: ['192.0.2.2'], ports });
  await rig.see();
}

/** Two slices, each to be updated; what the writes of either come to says `fail`, given how many it had. */
async function twoUpdatesToCome(fail: (nth: 'first' | 'second', tries: number) => void) {
  await twoSlicesToCome();
  await rig.run('web');
  for (const name of ['a', 'b']) await setReady(rig.ns, name, false);
  await rig.see();
  rig.api.forget();
  const tries = new Map<string, number>();
  rig.api.before = ({ verb, object }) => {
    if (verb !== 'update') return;
    tries.set(object, (tries.get(object) ?? 0) + 1);
    const nth = [...tries.keys()].indexOf(object) === 0 ? 'first' : 'second';
    fail(nth, tries.get(object) ?? 0);
  };
}

const conflict = () => refusal(409, { reason: 'Conflict' });

function retryOf(outcome: Outcome): Extract<Outcome, { kind: 'retry' }> {
  if (outcome.kind === 'retry') return outcome;
  throw new Error(`not a retry but ${JSON.stringify(outcome)}`);
}

/** Makes the first write of a plan send content that the API server refuses for good. */
function spoilFirstWrite(): void {
  let spoilt = false;
  rig.api.before = ({ verb, body }) => {
    if (spoilt || verb !== 'create') return;
    spoilt = true;
    return { ...body, ports: [{ name: 'http', protocol: 'CARRIER-PIGEON', port: 8080 }] };
  };
}

describe('422: the API server refuses the content (H1)', () => {
  test('the field is named, and the rest of the plan goes on', async () => {
    await twoSlicesToCome();
    spoilFirstWrite();
    const outcome = retryOf(await rig.run('web'));
    expect(outcome.error).toBeInstanceOf(ApiError);
    expect(outcome.reason).toMatch(/ports\[0\]\.protocol.*CARRIER-PIGEON/);
    expect(outcome.afterMs).toBeGreaterThanOrEqual(30_000);
    expect(rig.events).toMatchObject([
      {
        type: 'Warning',
        reason: 'FailedToUpdateEndpointSlices',
        regarding: { kind: 'Service', name: 'web' },
        message: expect.stringContaining('ports[0].protocol'),
      },
    ]);
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    // What went through is known, so that the next run writes the rest alone.
    rig.api.forget();
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { created: 1 } });
    expect(rig.api.calls).toHaveLength(1);
  });
});

describe('403: a right is missing (H1, report 117)', () => {
  test('is a typed error that says which verb on what, an Event, and a slow retry', async () => {
    await twoSlicesToCome();
    const access = await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} });
    // The real API server's own refusal, to a user without any right.
    const headers = ['Impersonate-User', 'nobody-in-particular'];
    const client = createKubeClient({ ...access, headers });
    try {
      const deps = { ...rig.deps, api: createEndpointApi(client) };
      rig.deps = deps;
      const outcome = retryOf(await rig.run('web'));
      expect(outcome.error).toMatchObject({ code: 'ApiError', status: 403 });
      expect(outcome.failure).toBe(true);
      expect(outcome.afterMs).toBeGreaterThanOrEqual(30_000);
      expect(outcome.reason).toMatch(/create.*endpointslices/);
      const messages = rig.events.map(({ message }) => message);
      expect(messages.length).toBeGreaterThan(0);
      for (const message of messages) expect(message).toMatch(/cannot create resource/);
    } finally {
      await client.close();
    }
  });

  test('says the same at each retry, so that one Event is counted up', async () => {
    await twoSlicesToCome();
    rig.api.before = ({ verb }) => {
      if (verb === 'create') throw refusal(403, { reason: 'Forbidden' });
    };
    await rig.run('web');
    const first = new Set(rig.events.map(({ message }) => message));
    await rig.run('web');
    expect(new Set(rig.events.map(({ message }) => message))).toEqual(first);
  });
});

describe('403 that is no missing right', () => {
  test('a quota is told in the server’s words, without advice about rights; once it is raised the key succeeds', async () => {
    await twoSlicesToCome();
    const quotas = `/api/v1/namespaces/${rig.ns}/resourcequotas`;
    const none = { 'count/endpointslices.discovery.k8s.io': '0' };
    await apiOk('POST', quotas, { metadata: { name: 'none' }, spec: { hard: none } });
    // As the quota controller does, which the control plane of the tests does not run.
    await mergePatch(`${quotas}/none/status`, { status: { hard: none, used: none } });
    // The server's own cache of quotas may be a moment late.
    const probe = { metadata: { generateName: 'probe-' }, addressType: 'IPv4', endpoints: [] };
    await eventually(async () => {
      const { status } = await api('POST', `${slicesPath(rig.ns)}?dryRun=All`, probe);
      expect(status).toBe(403);
    });
    const outcome = retryOf(await rig.run('web'));
    expect(outcome.reason).toContain('exceeded quota: none');
    expect(outcome.reason).toContain('403 Forbidden');
    expect(outcome.reason).not.toContain('grant');
    expect(outcome.afterMs).toBeGreaterThanOrEqual(30_000);
    await remove(`${quotas}/none`);
    await eventually(async () => expect(await rig.run('web')).toMatchObject({ kind: 'done' }));
  });
});

describe('429: too many requests (H1)', () => {
  test.each(['a write', 'a live read'])('at %s, Retry-After is obeyed', async (where) => {
    await twoSlicesToCome();
    rig.api.before = ({ verb }) => {
      if ((verb === 'create') === (where === 'a write')) {
        throw refusal(429, { reason: 'TooManyRequests', retryAfterMs: 7_000 });
      }
    };
    const read = where === 'a write' ? 'view' : 'live';
    const outcome = retryOf(await rig.run('web', { read }));
    expect(outcome.afterMs).toBe(7_000);
  });

  test('without Retry-After, the key’s own backoff decides', async () => {
    await twoSlicesToCome();
    rig.api.before = () => {
      throw refusal(429);
    };
    expect(retryOf(await rig.run('web')).afterMs).toBe(50);
    await rig.stepPasses('web');
    expect(retryOf(await rig.run('web')).afterMs).toBe(100);
  });
});

describe('a conflict beside another failure', () => {
  test('429 is obeyed before the conflict is planned anew: the server is asked for nothing more (H1)', async () => {
    let refused = 0;
    await twoUpdatesToCome((nth, tries) => {
      if (nth === 'first' && tries === 1) throw conflict();
      if (nth === 'first') return;
      refused += 1;
      throw refusal(429, { reason: 'TooManyRequests', retryAfterMs: 7_000 });
    });
    const outcome = retryOf(await rig.run('web'));
    expect(outcome).toMatchObject({ afterMs: 7_000, failure: true, error: { status: 429 } });
    expect(refused).toBe(1);
    expect(rig.api.writes()).toHaveLength(2);
    expect(rig.api.reads()).toEqual([]);
  });

  test('what the next round of the run cured is told to nobody', async () => {
    await twoUpdatesToCome((nth, tries) => {
      if (tries === 1) throw nth === 'first' ? conflict() : refusal(500);
    });
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { updated: 2 } });
    expect(rig.events).toEqual([]);
  });

  test('what no round cures is told, once, and the conflict does not hide it', async () => {
    await twoUpdatesToCome((nth) => {
      throw nth === 'first' ? conflict() : refusal(500);
    });
    expect(retryOf(await rig.run('web')).error).toMatchObject({ status: 500 });
    expect(rig.events).toHaveLength(1);
  });
});

describe('failures are counted per key (queue 4, report 98)', () => {
  test('the delay doubles from 50 ms to the cap of a minute, and success starts anew', async () => {
    await twoSlicesToCome();
    rig.api.before = () => {
      throw new UnreachableError('create', new Error('connect ECONNREFUSED'));
    };
    const delays: (number | undefined)[] = [];
    for (let failure = 1; failure <= 14; failure += 1) {
      const outcome = retryOf(await rig.run('web'));
      expect(outcome.failures).toBe(failure);
      delays.push(outcome.afterMs);
      await rig.stepPasses('web');
    }
    expect(delays).toEqual([
      50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 60_000, 60_000, 60_000,
    ]);
    rig.api.before = () => undefined;
    expect(await rig.run('web')).toMatchObject({ kind: 'done', failuresBefore: 14 });
    expect(await rig.run('web')).toMatchObject({ kind: 'done', failuresBefore: 0 });
  });

  test('events that come while it fails do not drive it to the cap', async () => {
    await twoSlicesToCome();
    rig.api.before = () => {
      throw refusal(500);
    };
    const run = async (): Promise<number | undefined> => retryOf(await rig.run('web')).failures;
    for (let failure = 1; failure <= 8; failure += 1) {
      await run();
      await rig.stepPasses('web');
    }
    // From here on a step is 6.4 s and more.
    expect(await run()).toBe(9);
    for (let event = 1; event <= 10; event += 1) expect(await run()).toBe(9);
    await rig.stepPasses('web');
    expect(await run()).toBe(10);
  });

  test('from the fifteenth on the key counts as stuck, until it succeeds; it is tried all the same', async () => {
    await twoSlicesToCome();
    const stuck = new Set<string>();
    const handle = createServiceHandler({
      reconcile: rig.deps,
      stuck: {
        add: async (key) => void stuck.add(key),
        remove: async (key) => void stuck.delete(key),
      },
      log: silentLogger,
      metrics: createMetrics(),
    });
    const key = { namespace: rig.ns, name: 'web' };
    const job = { key, id: '1', class: 'event', enqueuedAt: Date.now() } as const;
    const run = () => handle(job, new AbortController().signal);
    rig.api.before = () => {
      throw refusal(500);
    };
    for (let failure = 1; failure <= 14; failure += 1) {
      await run();
      await rig.stepPasses('web');
    }
    expect([...stuck]).toEqual([]);
    expect(await run()).toMatchObject({ kind: 'later', delayMs: 60_000 });
    expect([...stuck]).toEqual([`${rig.ns}/web`]);
    // As if Redis had not taken that: the next failure says it again.
    stuck.clear();
    await rig.stepPasses('web');
    await run();
    expect([...stuck]).toEqual([`${rig.ns}/web`]);
    rig.api.before = () => undefined;
    expect(await run()).toMatchObject({ kind: 'complete' });
    expect([...stuck]).toEqual([]);
  });

  test('one key’s failures are no other key’s', async () => {
    await twoSlicesToCome();
    await createService(rig.ns, 'other', { spec: { selector: { app: 'web' } } });
    await rig.see();
    rig.api.before = ({ object }) => {
      if (object.startsWith('slice/web-')) throw refusal(500);
    };
    await rig.run('web');
    await rig.stepPasses('web');
    await rig.run('web');
    await rig.stepPasses('web');
    expect(await rig.run('other')).toMatchObject({ kind: 'done', failuresBefore: 0 });
    expect(retryOf(await rig.run('web')).failures).toBe(3);
    expect(await endpointsOf(rig.ns, 'other')).toEqual(['192.0.2.1 8080 ready']);
  });

  test('without Redis a run is put off, and does not throw', async () => {
    await twoSlicesToCome();
    const away = (): Promise<never> => Promise.reject(new Error('Connection is closed.'));
    rig.deps = {
      ...rig.deps,
      view: { acquire: away, renew: away, finish: away, doubt: away, presence: away },
    };
    expect(await rig.run('web')).toMatchObject({ kind: 'retry' });
    expect(rig.api.calls).toEqual([]);
  });

  test('Redis that goes away in the middle of a run stops the writing, without an Event', async () => {
    await twoSlicesToCome();
    const { view } = rig.deps;
    const away = (): Promise<never> => Promise.reject(new Error('Connection is closed.'));
    rig.deps = {
      ...rig.deps,
      view: {
        renew: away,
        finish: away,
        doubt: away,
        presence: away,
        acquire: (...args) => {
          rig.skew += 300;
          return view.acquire(...args).finally(() => (rig.skew += 300));
        },
      },
    };
    const outcome = retryOf(await rig.run('web'));
    expect(outcome).toMatchObject({ failure: true, error: expect.any(LockUnknownError) });
    expect(rig.api.writes()).toEqual([]);
    expect(rig.told).toContain('failed');
    expect(rig.events).toEqual([]);
  });
});
