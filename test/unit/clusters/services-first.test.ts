import { describe, expect, it } from '@jest/globals';
import type { ApiSecret } from '../../../core/api-objects.ts';
import type { ClusterDecision } from '../../../core/cluster.ts';
import { silentLogger } from '../../../core/logger.ts';
import { CLUSTER_SECRET_TYPE, LABEL_CLUSTER_NAME } from '../../../core/names.ts';
import type { ObjectKey } from '../../../core/object-key.ts';
import { createClusterHandler } from '../../../functions/cluster-worker.ts';
import type { ClusterDeps } from '../../../functions/reconcile-cluster.ts';
import { letServicesGoFirst, type ServicesFirstDeps } from '../../../functions/services-first.ts';
import { contentHash } from '../../../platform/kube/cluster-secret.ts';
import { decision } from '../lookup/builders.ts';

const running = new AbortController().signal;
const KEY = { namespace: 'tether', name: 'east' };

const secret = (kubeconfig: string): ApiSecret => ({
  metadata: { ...KEY, labels: { [LABEL_CLUSTER_NAME]: 'east' } },
  type: CLUSTER_SECRET_TYPE,
  data: { kubeconfig },
});
const about = (content: ApiSecret): ClusterDecision => decision({ hash: contentHash(content) });

/** What the registry and the API server say. */
interface Scene {
  readonly decided?: ClusterDecision | null;
  readonly there?: ApiSecret | null;
  readonly running?: number;
}

/** On a clock that goes on by a quarter of a second at each look at the Service keys. */
function scene({ decided = null, there = secret('old'), running: runs = 64 }: Scene) {
  let ms = 0;
  const read: ObjectKey[] = [];
  const load = (): number => {
    ms += 250;
    return runs;
  };
  const deps: ServicesFirstDeps = {
    load,
    monotonicMs: () => ms,
    namespace: KEY.namespace,
    registry: { decision: () => Promise.resolve(decided) },
    readSecret: (key) => {
      read.push(key);
      return Promise.resolve(there);
    },
  };
  return { deps, load, read, waited: () => ms };
}

async function waits(given: Scene): Promise<number> {
  const { deps, waited } = scene(given);
  await letServicesGoFirst(KEY, deps, running);
  return waited();
}

describe('in a burst of Service keys that lasts', () => {
  it('a Secret that was changed since it was decided about waits half a second', async () => {
    expect(await waits({ decided: about(secret('old')), there: secret('new') })).toBe(500);
  });

  it('and so does one that is gone', async () => {
    expect(await waits({ decided: about(secret('old')), there: null })).toBe(500);
  });

  it('one that was decided about as it is waits three seconds', async () => {
    expect(await waits({ decided: about(secret('old')), there: secret('old') })).toBe(3_000);
  });

  it('and so does one that nothing was decided about', async () => {
    expect(await waits({ decided: null })).toBe(3_000);
  });

  it('and one of which nobody can say whether it was changed', async () => {
    const { deps, waited } = scene({ decided: about(secret('old')) });
    const readSecret = () => Promise.reject(new Error('the API server is away'));
    await letServicesGoFirst(KEY, { ...deps, readSecret }, running);
    expect(waited()).toBe(3_000);
  });

  it('a key of another namespace is not read', async () => {
    const { deps, read } = scene({ decided: about(secret('old')), there: secret('new') });
    await letServicesGoFirst({ namespace: 'other', name: 'east' }, deps, running);
    expect(read).toEqual([]);
  });
});

it('without a burst nothing is read, and nothing waits', async () => {
  const { deps, read, waited } = scene({ decided: about(secret('old')), running: 7 });
  await letServicesGoFirst(KEY, deps, running);
  expect([read, waited()]).toEqual([[], 250]);
});

describe('a worker in a burst', () => {
  const taken = async (kind: 'event' | 'on-demand'): Promise<number> => {
    const { deps, load, waited } = scene({ decided: about(secret('old')), there: secret('new') });
    const lock = { acquire: () => Promise.resolve({ held: false, freeInMs: 1 }) };
    const nothing = (): void => undefined;
    const handle = createClusterHandler({
      // Of a run that finds the key locked nothing else is needed.
      reconcile: { ...deps, lock, token: () => 'me' } as unknown as ClusterDeps,
      log: silentLogger,
      metrics: { started: nothing, finished: nothing, retried: nothing },
      serviceRuns: load,
      now: () => 0,
    });
    const job = { key: KEY, id: '1', class: kind, enqueuedAt: 0 };
    expect(await handle(job, running)).toMatchObject({ kind: 'later' });
    return waited();
  };

  it('takes a changed Secret after half a second', async () => {
    expect(await taken('event')).toBe(500);
  });

  it('and at once where somebody waits for the answer', async () => {
    expect(await taken('on-demand')).toBe(0);
  });
});
