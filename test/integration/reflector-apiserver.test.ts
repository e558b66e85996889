import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ApiError } from '../../core/errors.ts';
import { silentLogger } from '../../core/logger.ts';
import { createKubeClient } from '../../platform/kube/client.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import type { KubeAccess } from '../../platform/kube/kubeconfig.ts';
import { startReflector } from '../../watcher/reflector.ts';
import type { Reflector } from '../../watcher/reflector.ts';
import { compact, etcdOf } from '../support/etcd.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { RecordingSink } from '../support/recording-sink.ts';
import type { Named } from '../support/recording-sink.ts';
import { fromRun } from '../support/run.ts';

let access: KubeAccess;
let client: KubeClient;
let namespace: string;
let sink: RecordingSink<Named>;
let reflector: Reflector | undefined;

beforeAll(async () => {
  access = await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} });
  client = createKubeClient(access);
  namespace = await freshNamespace('reflector');
});
afterAll(() => client.close());
beforeEach(() => {
  sink = new RecordingSink<Named>();
});
afterEach(() => reflector?.stop());

const configMaps = () => `/api/v1/namespaces/${namespace}/configmaps`;
const put = (name: string) =>
  client.create(configMaps(), { metadata: { name } }, { what: `create configmap ${name}` });
const remove = (name: string) =>
  client.delete(`${configMaps()}/${name}`, undefined, { what: `delete configmap ${name}` });

function start(path: string, through = client): Reflector {
  reflector = startReflector<Named>({
    client: through,
    path,
    what: 'things',
    sink,
    log: silentLogger,
    pageSize: 2,
    kindPoll: { baseMs: 50, capMs: 100 },
  });
  return reflector;
}

test('list and watch of a real API server agree with what was written', async () => {
  for (const name of ['a', 'b', 'c']) await put(name);
  start(configMaps());
  await eventually(() => expect(sink.names).toEqual(expect.arrayContaining(['a', 'b', 'c'])));
  expect(sink.pages.length).toBeGreaterThan(1);
  await put('d');
  await remove('a');
  await eventually(() => expect(sink.names).not.toContain('a'));
  await eventually(() => expect(sink.names).toContain('d'));
});

const etcd = etcdOf(fromRun('kubeconfig'));

/** Events have no watch cache, so that the compaction of etcd is what their watch meets. */
(etcd === undefined ? test.skip : test)(
  'history that etcd compacted away (410) costs a list, whose difference is delivered (report 86)',
  async () => {
    const events = `/api/v1/namespaces/${namespace}/events`;
    const involvedObject = { kind: 'Pod', namespace, name: 'x' };
    const create = (name: string) =>
      client.create(
        events,
        { metadata: { name }, involvedObject },
        { what: `create event ${name}` },
      );
    await create('lost');
    const gate = Promise.withResolvers<void>();
    let watches = 0;
    const interrupted: KubeClient = {
      ...client,
      async *watch(path, options) {
        watches += 1;
        if (watches === 2) await gate.promise;
        yield* client.watch(path, watches === 1 ? { ...options, timeoutSeconds: 2 } : options);
      },
    };
    const running = start(events, interrupted);
    await eventually(() => expect(watches).toBe(2));
    await client.delete(`${events}/lost`, undefined, { what: 'delete event lost' });
    await create('found');
    await compact(etcd ?? '');
    gate.resolve();
    await eventually(() => expect(sink.names).toEqual(['found']));
    expect(sink.vanished).toEqual(['lost']);
    expect(running.health().lastError).toMatch(/410 Expired/);
  },
);

test('a kind is waited for until its CRD is there, and again once it is gone', async () => {
  const group = `g${randomBytes(4).toString('hex')}.example.com`;
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const schema = { openAPIV3Schema: { type: 'object' } };
  const running = start(`/apis/${group}/v1/things`);
  await eventually(() => expect(running.health().state.kind).toBe('waiting-for-kind'));
  await client.create(
    crds,
    {
      metadata: { name: `things.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'things', singular: 'thing', kind: 'Thing' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    },
    { what: 'create crd' },
  );
  await eventually(() => expect(running.health().state.kind).toBe('watching'));
  const thing = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'one' } };
  const things = `/apis/${group}/v1/namespaces/${namespace}/things`;
  await client.create(things, thing, { what: 'create thing' });
  await eventually(() => expect(sink.names).toEqual(['one']));
  await client.delete(`${crds}/things.${group}`, undefined, { what: 'delete crd' });
  await eventually(() => expect(running.health().state.kind).toBe('waiting-for-kind'));
});

describe('errors of a real API server', () => {
  test('name the object, the reason and the causes', async () => {
    const bad = { metadata: { name: 'UPPER' } };
    const failed = client.create(configMaps(), bad, { what: 'create configmap UPPER' });
    const error = await failed.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 422, failure: { reason: 'Invalid' } });
    expect((error as ApiError).failure.causes[0]?.field).toBe('metadata.name');
    expect((error as ApiError).message).toMatch(/^create configmap UPPER: 422 Invalid: /);
  });

  test('a wrong CA is told as such', async () => {
    const { ca: _ours, ...others } = access;
    const stranger = createKubeClient(others);
    await expect(stranger.get('/version', { what: 'get version' })).rejects.toThrow(
      /^get version: .*not signed by the CA of the kubeconfig/,
    );
    await stranger.close();
  });

  test('a wrong token is told as 401, without the token', async () => {
    const credentials = {
      ...access.credentials,
      authorization: () => 'Bearer very-secret-token',
    };
    const stranger = createKubeClient({ ...access, credentials });
    const failed = stranger.get(configMaps(), { what: 'list configmaps' });
    await expect(failed).rejects.toThrow(/401 Unauthorized/);
    await expect(failed).rejects.not.toThrow(/very-secret/);
    await stranger.close();
  });

  test('a right that is missing names verb and resource', async () => {
    const bound = createKubeClient({ ...access, headers: ['impersonate-user', 'nobody'] });
    const refused = start(configMaps(), bound);
    await eventually(() => expect(refused.health().lastError).toBeDefined());
    expect(refused.health().lastError).toMatch(/403 Forbidden: .*"nobody" cannot list.*configmaps/);
    await refused.stop();
    await bound.close();
  });
});
