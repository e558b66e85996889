import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../platform/process/free-port.ts';
import { createClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import { ApiDouble } from '../support/api-double.ts';
import { apiOk } from '../support/api.ts';
import { clusterSecret } from '../support/cluster-secret.ts';
import { eventually } from '../support/eventually.ts';
import { answer, errorLine, html, refuse, type Behaviour } from '../support/misbehaviours.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';
import { startTraceCollector, type TraceCollector } from '../support/trace-collector.ts';

/*
 * One cluster Secret lives through everything that may happen to it, and a marker in its credentials
 * is then looked for in all that Tether has said, stored and sent meanwhile.
 */

/** Short enough that nothing takes it for a token by its length. */
const MARKER = `planted${randomBytes(8).toString('hex')}`;
const PREFIX = `credentials-${randomBytes(4).toString('hex')}`;
const CLUSTER = 'marked';
const SECRET = 'link-marked';
const LIMIT_MS = 360_000;
const BOARD_PASSWORD = 'of-the-board';

let dir: string;
let ns: string;
let collector: TraceCollector;
let double: ApiDouble;
let redis: Redis;
let monitor: Redis;
/** Every command that Redis got from anybody under our prefix, those of scripts too. */
const commands: string[] = [];
/** Everything else that somebody may read, by where it was found. */
const said: [where: string, text: string][] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-credentials-'));
  ns = await freshNamespace('credentials');
  collector = await startTraceCollector();
  double = await ApiDouble.start({ users: { [MARKER]: { name: 'admin' } } });
  putService(double);
  redis = new Redis(fromRun('redisUrl'));
  monitor = await redis.monitor();
  monitor.on('monitor', (_time: string, args: string[]) => commands.push(args.join(' ')));
});
afterAll(async () => {
  monitor.disconnect();
  redis.disconnect();
  await double.close();
  await collector.close();
  rmSync(dir, { recursive: true, force: true });
});

function putService(into: ApiDouble): void {
  const metadata = { namespace: 'remote', name: 'shop' };
  const service = { metadata, spec: { ports: [{ name: 'http', port: 80 }] } };
  const slice = {
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'shop' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
  };
  into.put('services', service);
  into.put('endpointslices', slice);
}

const secretsPath = (name = ''): string => `/api/v1/namespaces/${ns}/secrets${name && `/${name}`}`;
const put = (kubeconfig: string): Promise<unknown> =>
  apiOk('PUT', secretsPath(SECRET), clusterSecret(SECRET, CLUSTER, kubeconfig));

const PLUGIN = 'a plugin';
const REPEATED = 'a refusal that repeats the token';

/** Servers that repeat what they were sent, in every way that is read by somebody. */
const ECHOES: Readonly<Record<string, Behaviour>> = {
  [REPEATED]: (request, ...rest) =>
    refuse(401, {
      reason: 'Unauthorized',
      message: `${request.headers.authorization} is not known`,
    })(request, ...rest),
  'a server error that repeats the token': (request, ...rest) =>
    refuse(500, { reason: 'InternalError', message: `cannot check ${MARKER}` })(request, ...rest),
  'a page that repeats the token': (request, ...rest) => {
    if (request.url === '/version') return html(200)(request, ...rest);
    const body = `<html>${request.headers.authorization}</html>`;
    answer(200, body, { 'content-type': 'text/html' })(request, ...rest);
  },
  'plain text that repeats the token': (request, ...rest) =>
    answer(403, `no: ${request.headers.authorization}`, { 'content-type': 'text/plain' })(
      request,
      ...rest,
    ),
  'watch lines that repeat the token': (request, response, proceed) => {
    if (!request.url?.includes('watch=true')) return proceed();
    const line = errorLine(403, 'Forbidden', `${request.headers.authorization} may not`);
    answer(200, `${line}\nrubbish ${MARKER}\n`, { 'content-type': 'application/json' })(
      request,
      response,
      proceed,
    );
  },
};

interface Config {
  readonly clusters: { cluster: Record<string, unknown> }[];
  readonly users: { user: Record<string, unknown> }[];
}

/** The good kubeconfig, changed. */
function changed(change: (config: Config) => void): string {
  const config = JSON.parse(double.kubeconfig(MARKER)) as Config;
  change(config);
  return JSON.stringify(config);
}

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

/** Contents that are refused, each with the marker in a place that a reason might quote. */
const refusedContents = (): Readonly<Record<string, string>> => ({
  'text that is no YAML': `users: [{user: {token: ${MARKER}`,
  'YAML of another shape': `users: ${MARKER}\nclusters: 3\n`,
  [PLUGIN]: changed(({ users }) => {
    const env = [{ name: 'TOKEN', value: MARKER }];
    for (const entry of users) entry.user = { exec: { command: MARKER, args: [MARKER], env } };
  }),
  'a key that is none': changed(({ users }) => {
    const data = inBase64(`-----BEGIN PRIVATE KEY-----\n${MARKER}\n-----END PRIVATE KEY-----\n`);
    for (const entry of users) {
      entry.user = { 'client-certificate-data': data, 'client-key-data': data };
    }
  }),
  'a token that is no header': changed(({ users }) => {
    for (const entry of users) entry.user = { token: `${MARKER}\nx: y` };
  }),
  'a user in the server’s address': changed(({ clusters }) => {
    for (const { cluster } of clusters) {
      cluster['server'] = `https://admin:${MARKER}@127.0.0.1:${double.port}`;
    }
  }),
  'a user in the proxy’s address': changed(({ clusters }) => {
    for (const { cluster } of clusters) cluster['proxy-url'] = `http://me:${MARKER}@127.0.0.1:1`;
  }),
  'an auth provider': changed(({ users }) => {
    for (const entry of users) {
      entry.user = { 'auth-provider': { name: 'gcp', config: { 'access-token': MARKER } } };
    }
  }),
});

/** Runs a command to its end, and keeps all that it says. */
async function note(stage: string, ...line: string[]): Promise<void> {
  const { stdout, stderr } = await runTether([...line, '--redis-prefix', PREFIX]);
  said.push([`tether ${line.join(' ')} after ${stage}`, stdout + stderr]);
}

/** Tries to link by a kubeconfig that holds the marker. The double makes no tokens, so that it fails. */
async function noteLink(stage: string, kubeconfig: string): Promise<void> {
  const file = join(dir, 'remote.kubeconfig');
  writeFileSync(file, kubeconfig, { mode: 0o600 });
  const given = ['--name', 'another', '--kubeconfig', file, '--namespace', ns];
  const line = ['link', ...given, '--clusters-allow-loopback', 'true'];
  const { code, stdout, stderr } = await runTether(line);
  expect({ stage, code }).not.toEqual({ stage, code: 0 });
  said.push([`tether link after ${stage}`, stdout + stderr]);
}

/** What commands say of the cluster. */
async function noteCommands(stage: string): Promise<void> {
  await Promise.all([note(stage, 'status'), note(stage, 'status', '-o', 'json')]);
  const service = ['lookup', CLUSTER, 'remote/shop'];
  await Promise.all([note(stage, ...service), note(stage, 'lookup', CLUSTER, '-o', 'json')]);
}

/** What the board shows of both queues. */
async function noteBoard(stage: string, board: TetherProcess): Promise<void> {
  const [, url] = await board.untilLog(/"boardUrl":"([^"]+)"/);
  const password = Buffer.from(`tether:${BOARD_PASSWORD}`).toString('base64');
  const headers = { authorization: `Basic ${password}`, connection: 'close' };
  for (const queue of ['service', 'cluster']) {
    const path = `/api/queues?activeQueue=${queue}`;
    const response = await fetch(url + path, { headers });
    expect({ stage, status: response.status }).toEqual({ stage, status: 200 });
    said.push([`board after ${stage}`, await response.text()]);
  }
}

test(
  'no credential of a cluster Secret is in a log, a job, Redis, an Event, a metric, a trace or an answer',
  async () => {
    const port = await freePort();
    const common = ['--redis-prefix', PREFIX, '--log-level', 'debug', '--log-format', 'json'];
    const clusters = ['--namespace', ns, '--clusters-allow-loopback', 'true'];
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const board = spawnTether(['board', ...common, '--board-password', BOARD_PASSWORD]);
    const members = [
      spawnTether(['watcher', ...common, ...clusters, '--namespaces', ns], { env }),
      spawnTether(['worker', ...common, ...clusters], { env }),
      spawnTether(['lookup', ...common, '--lookup-addr', `127.0.0.1:${port}`], { env }),
      board,
    ];
    await Promise.all(members.map((member) => member.untilLog(/"msg":"ready"/)));
    const registry = createClusterRegistry(redis, PREFIX);
    const ask = async (path: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    const endpoints = `/v1/clusters/${CLUSTER}/services/remote/shop/endpoints`;
    const look = async (stage: string): Promise<void> => {
      for (const path of ['/v1/clusters', `/v1/clusters/${CLUSTER}`, endpoints]) {
        said.push([`${path} after ${stage}`, await (await ask(path)).text()]);
      }
      for (const member of members) said.push([`metrics after ${stage}`, await metricsOf(member)]);
      await noteBoard(stage, board);
      await noteCommands(stage);
    };
    const reconcile = (stage: string): Promise<void> =>
      note(stage, 'reconcile', 'cluster', `${ns}/${SECRET}`, '--wait');

    await apiOk('POST', secretsPath(), clusterSecret(SECRET, CLUSTER, double.kubeconfig(MARKER)));
    await eventually(async () => expect((await ask(endpoints)).status).toBe(200));
    await look('the start');
    await reconcile('the start');
    await noteLink('the start', double.kubeconfig(MARKER));

    for (const [stage, behaviour] of Object.entries(ECHOES)) {
      double.misbehave(behaviour);
      double.cut();
      await eventually(async () => {
        const watch = (await registry.watches()).get(CLUSTER);
        expect({ stage, healthy: watch?.healthy, reason: watch?.reason }).toMatchObject({
          healthy: false,
          reason: expect.stringMatching(/./),
        });
      });
      await look(stage);
      await noteLink(stage, double.kubeconfig(MARKER));
      if (stage === REPEATED) await reconcile(stage);
      double.misbehave(undefined);
      await eventually(async () => {
        expect((await registry.watches()).get(CLUSTER)?.healthy).toBe(true);
      });
    }

    for (const [stage, kubeconfig] of Object.entries(refusedContents())) {
      const before = (await registry.decision(`${ns}/${SECRET}`))?.hash;
      await put(kubeconfig);
      await eventually(async () => {
        const decision = await registry.decision(`${ns}/${SECRET}`);
        expect({ stage, ...decision }).toMatchObject({ reason: expect.stringMatching(/./) });
        expect(decision?.hash).not.toBe(before);
        expect(decision?.verdict).not.toBe('Accepted');
      });
      await look(stage);
      // A person's own plugin is run, and may be named.
      if (stage !== PLUGIN) await noteLink(stage, kubeconfig);
    }
    await reconcile('the last of them');

    await apiOk('DELETE', secretsPath(SECRET));
    await eventually(async () => expect(await registry.decisions()).toEqual([]));
    for (const member of members) {
      const { code } = await member.stop();
      expect(code).toBe(0);
      said.push(['log', member.stdout() + member.stderr()]);
    }
    const events = await apiOk('GET', `/api/v1/namespaces/${ns}/events`);
    said.push(['events', JSON.stringify(events)]);
    const others = await apiOk('GET', `/apis/events.k8s.io/v1/namespaces/${ns}/events`);
    said.push(['events', JSON.stringify(others)]);

    said.push(['traces', collector.text()]);

    // Had nothing been kept, nothing would be found either.
    const ours = commands.filter((command) => command.includes(PREFIX));
    expect(ours.some((command) => command.includes('10.1.2.3'))).toBe(true);
    expect(ours.some((command) => command.includes(`${ns}/${SECRET}`))).toBe(true);
    expect(JSON.stringify(events)).toContain(SECRET);
    for (const [where, text] of said) expect([where, text]).not.toEqual([where, '']);
    const heard = (where: string): string =>
      said.flatMap(([from, text]) => (from.startsWith(where) ? text : [])).join('\n');
    expect(heard('tether status after the start')).toMatch(new RegExp(`^${CLUSTER} +Ready `, 'm'));
    expect(heard('tether status')).toMatch(new RegExp(`^${ns}/${SECRET}: .*401`, 'm'));
    expect(heard('tether lookup')).toContain('10.1.2.3');
    expect(heard('tether link after the start')).toMatch(/^tether: .*127\.0\.0\.1/m);
    expect(heard('board')).toContain(`${ns}/${SECRET}`);
    expect(heard('traces')).toContain(`${ns}/${SECRET}`);

    const found = [...commands.map((text): [string, string] => ['redis', text]), ...said].filter(
      ([, text]) => FORMS.some((form) => text.includes(form)),
    );
    expect(found.map(([where, text]) => [where, around(text)])).toEqual([]);
  },
  LIMIT_MS,
);

/** The marker itself, and what it looks like inside of base64, wherever it begins there. */
const FORMS = [MARKER, ...[0, 1, 2].map(inside)];

function inside(shift: number): string {
  const encoded = Buffer.from(`${'x'.repeat(shift)}${MARKER}`).toString('base64');
  // The first and last characters depend on what is around it.
  return encoded.slice(shift === 0 ? 0 : 4, -4);
}

function around(text: string): string {
  const form = FORMS.find((one) => text.includes(one)) ?? '';
  const at = text.indexOf(form);
  return text.slice(Math.max(0, at - 200), at + 100);
}

async function metricsOf(tether: TetherProcess): Promise<string> {
  const [, url] = await tether.untilLog(/"url":"(http:[^"]+)"/);
  return (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
}
