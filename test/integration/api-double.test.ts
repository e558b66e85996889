import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiObject } from '../../core/api-objects.ts';
import { ApiDouble, type DoublePlural } from '../support/api-double.ts';
import { DOUBLE_KINDS, kindOf } from '../support/api-double/kinds.ts';
import { api, apiOk, type ApiAnswer, type ApiOptions } from '../support/api.ts';
import { compact, etcdOf } from '../support/etcd.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { fromRun } from '../support/run.ts';

/*
 * What stands in for remote API servers elsewhere is held to the real one here: every case runs
 * against both.
 */

interface Subject {
  readonly title: string;
  kubeconfig(): string;
  /** A user who may list Services and nothing else. */
  limited(): { readonly name: string; readonly token: string };
  put(plural: DoublePlural, object: ApiObject): Promise<void>;
  remove(plural: DoublePlural, name: string): Promise<void>;
  /** Forgets all history. */
  forget(): Promise<void>;
}

interface Status {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
}
interface List extends Status {
  readonly kind: string;
  readonly apiVersion: string;
  readonly items: readonly ApiObject[];
}
interface Line {
  readonly type: string;
  readonly object: ApiObject & { readonly code?: number };
}

const LIMITED = 'limited';
const LIMITED_TOKEN = 'limited-token';
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

const dir = mkdtempSync(join(tmpdir(), 'tether-double-'));
const etcd = etcdOf(fromRun('kubeconfig'));
let ns = '';
let double: ApiDouble;
let limitedToken = '';

beforeAll(async () => {
  ns = await freshNamespace('double');
  double = await ApiDouble.start();
  const may = (verb: string, plural: string): boolean => verb === 'list' && plural === 'services';
  double.users.set(LIMITED_TOKEN, { name: accountName(), may });
  writeFileSync(join(dir, 'double'), double.kubeconfig(), { mode: 0o600 });
  limitedToken = await makeLimitedAccount();
});
afterAll(async () => {
  await double.close();
  rmSync(dir, { recursive: true, force: true });
  for (const path of [ROLES, BINDINGS]) await api('DELETE', `${path}/${ns}`);
});

const accountName = (): string => `system:serviceaccount:${ns}:${LIMITED}`;

async function makeLimitedAccount(): Promise<string> {
  const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`;
  await apiOk('POST', accounts, { metadata: { name: LIMITED } });
  const rules = [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }];
  await apiOk('POST', ROLES, { metadata: { name: ns }, rules });
  await apiOk('POST', BINDINGS, {
    metadata: { name: ns },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ns },
    subjects: [{ kind: 'ServiceAccount', name: LIMITED, namespace: ns }],
  });
  const answer = await apiOk('POST', `${accounts}/${LIMITED}/token`, { spec: {} });
  return (answer as { readonly status: { readonly token: string } }).status.token;
}

const namespaced = (plural: DoublePlural, name = ''): string =>
  `${kindOf(plural).path.replace(plural, `namespaces/${ns}/${plural}`)}${name && `/${name}`}`;

const real: Subject = {
  title: 'kube-apiserver',
  kubeconfig: () => fromRun('kubeconfig'),
  limited: () => ({ name: accountName(), token: limitedToken }),
  put: async (plural, object) => {
    const made = await api('POST', namespaced(plural), object);
    if (made.status !== 409) return;
    const contentType = 'application/merge-patch+json';
    const path = namespaced(plural, object.metadata?.name);
    await apiOk('PATCH', path, { metadata: object.metadata }, { contentType });
  },
  remove: async (plural, name) => void (await apiOk('DELETE', namespaced(plural, name))),
  forget: () => compact(etcd ?? ''),
};

const standIn: Subject = {
  title: 'the double',
  kubeconfig: () => join(dir, 'double'),
  limited: () => ({ name: accountName(), token: LIMITED_TOKEN }),
  put: async (plural, object) => void double.put(plural, object),
  remove: async (plural, name) => double.remove(plural, ns, name),
  forget: async () => double.store.compact(),
};

function linesOf(body: unknown): Line[] {
  if (typeof body !== 'string') return body === undefined ? [] : [body as Line];
  const lines = body.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Line);
}

/** A continue token as API servers make them, of the first version that there was. */
const FORGED = Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"e1\\u0000"}').toString(
  'base64url',
);

const BODIES: Readonly<Record<DoublePlural, object>> = {
  services: { spec: { ports: [{ port: 80 }] } },
  endpointslices: { addressType: 'IPv4', endpoints: [], ports: [] },
  externalworkloads: {
    spec: {
      meshTLS: { identity: 'spiffe://example/a', serverName: 'a.example' },
      workloadIPs: [{ ip: '192.0.2.1' }],
      ports: [{ port: 80 }],
    },
  },
};

describe.each([real, standIn])('$title', (subject) => {
  const ask = (path: string, options: ApiOptions = {}): Promise<ApiAnswer> =>
    api('GET', path, undefined, { kubeconfig: subject.kubeconfig(), ...options });
  const review = (verb: string, plural: DoublePlural, options: ApiOptions): Promise<ApiAnswer> => {
    const resourceAttributes = { verb, resource: plural, group: kindOf(plural).group };
    const settings = { kubeconfig: subject.kubeconfig(), ...options };
    return api('POST', REVIEWS, { spec: { resourceAttributes } }, settings);
  };

  describe('whoever asks', () => {
    test('is told its version', async () => {
      const version = { major: expect.stringMatching(/^\d+$/), minor: expect.any(String) };
      expect(await ask('/version')).toMatchObject({
        status: 200,
        type: 'application/json',
        body: { ...version, gitVersion: expect.stringMatching(/^v\d+\.\d+/) },
      });
      expect(await ask('/version', { token: null })).toMatchObject({ status: 200 });
    });

    test('is told in which versions workloads are served', async () => {
      const versions = [{ groupVersion: 'workload.linkerd.io/v1beta1', version: 'v1beta1' }];
      expect(await ask('/apis/workload.linkerd.io')).toMatchObject({
        status: 200,
        type: 'application/json',
        body: {
          kind: 'APIGroup',
          apiVersion: 'v1',
          name: 'workload.linkerd.io',
          versions: expect.arrayContaining(versions),
        },
      });
    });

    test('is refused with 401 when the token is not known', async () => {
      for (const path of ['/version', kindOf('services').path, '/nowhere']) {
        expect(await ask(path, { token: 'nobody-knows-this' })).toEqual({
          status: 401,
          type: 'application/json',
          body: {
            kind: 'Status',
            apiVersion: 'v1',
            metadata: {},
            status: 'Failure',
            message: 'Unauthorized',
            reason: 'Unauthorized',
            code: 401,
          },
        });
      }
    });

    test('is anonymous without a token', async () => {
      expect(await ask(kindOf('services').path, { token: null })).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('User "system:anonymous" cannot list') },
      });
    });

    test('is refused with 403 what is not granted, by verb and kind', async () => {
      const { name, token } = subject.limited();
      expect(await ask(kindOf('services').path, { token })).toMatchObject({ status: 200 });
      for (const [query, plural, verb] of [
        ['', 'endpointslices', 'list'],
        ['?watch=true', 'services', 'watch'],
      ] as const) {
        const { group, path } = kindOf(plural);
        const answer = await ask(`${path}${query}`, { token });
        expect(answer).toEqual({
          status: 403,
          type: 'application/json',
          body: {
            kind: 'Status',
            apiVersion: 'v1',
            metadata: {},
            status: 'Failure',
            message: `${group === '' ? plural : `${plural}.${group}`} is forbidden: User "${name}" cannot ${verb} resource "${plural}" in API group "${group}" at the cluster scope`,
            reason: 'Forbidden',
            details: { ...(group === '' ? {} : { group }), kind: plural },
            code: 403,
          },
        });
      }
    });

    test('is told of its rights by an access review', async () => {
      const { token } = subject.limited();
      const answers = [
        await review('list', 'services', { token }),
        await review('watch', 'services', { token }),
        await review('list', 'externalworkloads', { token }),
        await review('watch', 'externalworkloads', {}),
      ];
      const kind = 'SelfSubjectAccessReview';
      expect(answers).toMatchObject(
        [true, false, false, true].map((allowed) => ({
          status: 201,
          type: 'application/json',
          body: { kind, apiVersion: 'authorization.k8s.io/v1', status: { allowed } },
        })),
      );
    });

    test('gets 404 as plain text where nothing is served', async () => {
      const nothing = { status: 404, type: expect.stringContaining('text/plain') };
      const body = '404 page not found\n';
      for (const path of ['/nowhere', '/apis/workload.linkerd.io/v9/externalworkloads']) {
        expect(await ask(path)).toEqual({ ...nothing, body });
      }
    });
  });

  describe.each(DOUBLE_KINDS)('of $plural', ({ plural, kind, apiVersion, path, ...traits }) => {
    const run = `${subject === real ? 'real' : 'double'}-${plural}`;
    // Of kinds that come from a CRD the end of a list is said.
    const end = traits.itemsNameTheirKind ? { continue: '' } : {};
    const put = (name: string, more: Readonly<Record<string, string>> = {}): Promise<void> =>
      subject.put(plural, {
        ...BODIES[plural],
        kind,
        apiVersion,
        metadata: { name, namespace: ns, labels: { run, ...more } },
      });
    const ours = (query = ''): string => `${path}?labelSelector=run%3D${run}${query}`;
    const list = async (query = ''): Promise<List> => {
      const answer = await ask(ours(query));
      expect(answer).toMatchObject({ status: 200, type: 'application/json' });
      return answer.body as List;
    };
    /** Gives the first `lines` of a watch, or all of one that ends by itself. */
    const watch = async (url: string, lines?: number): Promise<Line[]> => {
      const limit = lines === undefined ? {} : { lines };
      const answer = await ask(`${url}&watch=true`, limit);
      expect(answer).toMatchObject({ status: 200, type: 'application/json' });
      const { body } = answer;
      if (typeof body !== 'string') return body === undefined ? [] : [body as Line];
      return body
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line);
    };
    const names = (objects: readonly ApiObject[]): unknown[] =>
      objects.map(({ metadata }) => metadata?.name);

    test('a list is in order, with a version, and empty as an empty list', async () => {
      const empty = await list();
      expect(empty).toEqual({
        kind: `${kind}List`,
        apiVersion,
        metadata: { resourceVersion: expect.stringMatching(/^\d+$/), ...end },
        items: [],
      });
      for (const name of ['c', 'a', 'b', 'b-a']) await put(name);
      const { items, metadata } = await list();
      expect(names(items)).toEqual(['a', 'b', 'b-a', 'c']);
      expect(Number(metadata.resourceVersion)).toBeGreaterThan(
        Number(empty.metadata.resourceVersion),
      );
      const named = traits.itemsNameTheirKind ? { kind, apiVersion } : {};
      for (const { kind: own, apiVersion: version, metadata: of } of items) {
        expect({ kind: own, apiVersion: version }).toEqual({
          kind: undefined,
          apiVersion: undefined,
          ...named,
        });
        expect(of).toMatchObject({
          uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
          resourceVersion: expect.stringMatching(/^\d+$/),
          creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        });
      }
      expect(names((await list('&fieldSelector=metadata.name%3Db')).items)).toEqual(['b']);
    });

    test('pages of one list show one version, whatever changes meanwhile', async () => {
      const first = await list('&limit=2');
      expect(names(first.items)).toEqual(['a', 'b']);
      expect(first.metadata).toEqual({
        resourceVersion: expect.any(String),
        continue: expect.any(String),
      });
      await put('aa');
      await put('bb');
      const rest = await list(`&limit=2&continue=${first.metadata.continue}`);
      expect(names(rest.items)).toEqual(['b-a', 'c']);
      expect(rest.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion, ...end });
    });

    test('a continue token that is none is refused with 400', async () => {
      expect(await ask(ours('&continue=rubbish'))).toMatchObject({
        status: 400,
        type: 'application/json',
        body: { kind: 'Status', reason: 'BadRequest', code: 400 },
      });
    });

    test('a watch tells of what came after its version, in order', async () => {
      const { metadata } = await list();
      const watching = watch(ours(`&resourceVersion=${metadata.resourceVersion}`), 3);
      await put('d');
      await put('d', { round: '2' });
      await subject.remove(plural, 'd');
      const lines = await watching;
      expect(lines).toMatchObject([
        { type: 'ADDED', object: { kind, apiVersion, metadata: { name: 'd' } } },
        { type: 'MODIFIED', object: { metadata: { labels: { round: '2' } } } },
        { type: 'DELETED', object: { kind, apiVersion, metadata: { labels: { round: '2' } } } },
      ]);
      const versions = lines.map(({ object }) => Number(object.metadata?.resourceVersion));
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      expect(new Set(lines.map(({ object }) => object.metadata?.uid)).size).toBe(1);
    });

    test('a watch without a version begins with all that is there', async () => {
      const lines = await watch(ours('&fieldSelector=metadata.name%3Da'), 1);
      expect(lines).toMatchObject([{ type: 'ADDED', object: { metadata: { name: 'a' } } }]);
    });

    test('what enters a selection is added to it, what leaves it is deleted from it', async () => {
      const { metadata } = await list();
      const watching = watch(ours(`%2Cin%3Dyes&resourceVersion=${metadata.resourceVersion}`), 2);
      await put('a', { in: 'no' });
      await put('a', { in: 'yes' });
      await put('a', { in: 'no' });
      const lines = await watching;
      expect(lines).toMatchObject([
        { type: 'ADDED', object: { metadata: { labels: { in: 'yes' } } } },
        { type: 'DELETED', object: { metadata: { labels: { in: 'yes' } } } },
      ]);
      const [added, deleted] = lines.map(({ object }) => Number(object.metadata?.resourceVersion));
      expect(deleted).toBeGreaterThan(added ?? NaN);
    });
  });
});

/** Where each forgets what it is told to: the real one has a watch cache for all kinds but Events. */
const forgetful = [
  { subject: real, path: () => `/api/v1/namespaces/${ns}/events` },
  { subject: standIn, path: () => kindOf('services').path },
] as const;

(etcd === undefined ? describe.skip : describe).each(forgetful)(
  '$subject.title, once history is forgotten',
  ({ subject, path }) => {
    const ask = (query: string, options: ApiOptions = {}): Promise<ApiAnswer> =>
      api('GET', `${path()}?${query}`, undefined, { kubeconfig: subject.kubeconfig(), ...options });
    beforeAll(async () => {
      for (const name of ['e1', 'e2', 'e3']) {
        const metadata = { name, namespace: ns };
        if (subject === standIn) double.put('services', { metadata });
        else await apiOk('POST', path(), { metadata, involvedObject: { namespace: ns } });
      }
    });

    test('a list that is under way is refused with 410, and may go on without one version', async () => {
      const first = (await ask('limit=1')).body as List;
      await subject.forget();
      const answer = await ask(`limit=1&continue=${FORGED}`);
      expect(answer).toMatchObject({
        status: 410,
        type: 'application/json',
        body: {
          kind: 'Status',
          status: 'Failure',
          reason: 'Expired',
          code: 410,
          message: expect.stringMatching(/^The provided continue parameter is too old/),
          metadata: { continue: expect.any(String) },
        },
      });
      expect(first.metadata.continue).toBeDefined();
    });

    test('a watch from before is one line of 410, and its end', async () => {
      const { body, ...rest } = await ask('watch=true&resourceVersion=1&timeoutSeconds=5');
      expect(rest).toEqual({ status: 200, type: 'application/json' });
      expect(body).toMatchObject({
        type: 'ERROR',
        object: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          reason: 'Expired',
          code: 410,
          message: expect.stringMatching(/too old/),
        },
      });
    });
  },
);

test('a watch ends in time, after a bookmark where one is allowed and something changed', async () => {
  const settings = [real, standIn].map((subject) => ({ kubeconfig: subject.kubeconfig() }));
  const { path, kind, apiVersion } = kindOf('services');
  const lists = await Promise.all(
    settings.map((one) => api('GET', `${path}?limit=1`, undefined, one)),
  );
  const versions = lists.map(({ body }) => (body as List).metadata.resourceVersion);
  const watch = (at: number, query: string): Promise<ApiAnswer> =>
    api(
      'GET',
      `${path}?watch=true&labelSelector=no%3Dthing&timeoutSeconds=6&resourceVersion=${versions[at]}${query}`,
      undefined,
      settings[at],
    );
  const watching = [0, 1].map((at) =>
    Promise.all([watch(at, '&allowWatchBookmarks=true'), watch(at, '')]),
  );
  for (const subject of [real, standIn]) {
    const metadata = { name: 'another', namespace: ns };
    await subject.put('services', { ...BODIES.services, kind, apiVersion, metadata });
  }
  for (const [at, answers] of (await Promise.all(watching)).entries()) {
    const [allowed, plain] = answers;
    expect(plain).toEqual({ status: 200, type: 'application/json', body: undefined });
    const [line] = linesOf(allowed.body);
    expect(line).toMatchObject({ type: 'BOOKMARK', object: { kind, apiVersion } });
    const { resourceVersion } = line?.object.metadata ?? {};
    expect(Number(resourceVersion)).toBeGreaterThan(Number(versions[at]));
  }
});

test('a kind that the double does not serve is as one that kube-apiserver does not know', async () => {
  const kubeconfig = standIn.kubeconfig();
  double.unserved.add('externalworkloads');
  const mine = await api('GET', kindOf('externalworkloads').path, undefined, { kubeconfig });
  const group = await api('GET', '/apis/workload.linkerd.io', undefined, { kubeconfig });
  double.unserved.delete('externalworkloads');
  const theirs = await api('GET', '/apis/workload.linkerd.io/v9/externalworkloads');
  const otherGroup = await api('GET', '/apis/workload.example');
  expect([mine, group]).toEqual([theirs, otherGroup]);
});
