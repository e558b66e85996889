import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { InvalidInputError } from '../../core/errors.ts';
import { OPTIONS } from '../../platform/config/options.ts';
import {
  helpFor,
  NoRedisError,
  readConfig,
  redisUrlFile,
  resolveRedisUrl,
  type GivenFlags,
} from '../../platform/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'tether-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const FUNCTION_ADDR = { TETHER_FUNCTION_ADDR: '[::1]:1' };

function complaint(flags: GivenFlags, env: Record<string, string> = {}): InvalidInputError {
  try {
    readConfig(flags, env);
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
  throw new Error('no complaint');
}

describe('an option comes', () => {
  test('from its default when nobody says anything', () => {
    const config = readConfig({}, {});
    expect(config).toMatchObject({
      redisPrefix: 'tether',
      namespace: 'tether',
      concurrency: 64,
      maxEndpointsPerSlice: 100,
      manager: 'tether-external-workloads',
      workloadsWithoutStatus: 'not-ready',
      undeclaredPorts: 'refuse',
      resyncMs: 600_000,
      drainMs: 10_000,
      httpPort: 0,
      includeNamespaces: [],
    });
    expect(config.redisUrl).toBeUndefined();
  });

  test('from the variable, and from the flag before that', () => {
    const env = { TETHER_CONCURRENCY: '3', TETHER_NAMESPACE: 'links' };
    expect(readConfig({}, env)).toMatchObject({ concurrency: 3, namespace: 'links' });
    expect(readConfig({ concurrency: '5' }, env).concurrency).toBe(5);
  });

  test('from the default when the variable is empty', () => {
    expect(readConfig({}, { TETHER_HTTP_PORT: '' }).httpPort).toBe(0);
  });
});

test.each([
  ['on this machine alone', {}, { host: '127.0.0.1', port: 0 }],
  ['where a platform for functions wants it', { PORT: '8080' }, { host: '*', port: 8080 }],
  ['there only if that is a port', { PORT: 'tcp://10.0.0.1:80' }, { host: '127.0.0.1', port: 0 }],
  ['where its option says', { PORT: '8080', ...FUNCTION_ADDR }, { host: '::1', port: 1 }],
])('a function answers %s', (_, env, addr) => {
  expect(readConfig({}, env).functionAddr).toEqual(addr);
});

describe('a bad option is one clear line', () => {
  test.each<[keyof typeof OPTIONS, string, string]>([
    ['concurrency', '0', '--concurrency "0": expected a whole number from 1 to 1000'],
    ['concurrency', '1e3', '--concurrency "1e3": expected a whole number from 1 to 1000'],
    ['maxEndpointsPerSlice', '1001', 'a whole number from 1 to 1000'],
    ['httpPort', '65536', 'a whole number from 0 to 65535'],
    ['resyncMs', '10m', '--resync-seconds "10m": expected seconds from 1 to 86400, without a unit'],
    ['logLevel', 'verbose', 'expected one of debug, info, warn, error, silent'],
    ['undeclaredPorts', 'yes', 'expected one of refuse, allow'],
    ['namespace', 'Tether', 'the name of a namespace'],
    ['includeNamespaces', 'a,B', '("B" is none)'],
    ['manager', 'a/b', 'a label value'],
    ['adopt', 'a,b/c', '--adopt "a,b/c": expected names of managers'],
    [
      'adopt',
      'endpointslice-controller.k8s.io',
      "managers that have stopped (endpointslice-controller.k8s.io is Kubernetes' own, and goes on",
    ],
    ['adopt', 'a, endpointslicemirroring-controller.k8s.io', "is Kubernetes' own"],
    ['redisPrefix', 'a{b', 'up to 64 letters'],
    ['httpHost', 'a b', 'an IP address or a host name'],
    ['workloadCidrsDeny', '10.0.0.0/8, 10.1.0.0/8', '("10.1.0.0/8" is none: no bit after'],
  ])('%s %j', (name, text, expected) => {
    const error = complaint({ [name]: text });
    expect(error.message).toContain(expected);
    expect(error.message).not.toContain('\n');
    expect(error.field).toBe(OPTIONS[name].flag);
  });

  test('all of them at once, a line each', () => {
    const error = complaint({ concurrency: 'x' }, { TETHER_LOG_LEVEL: 'y' });
    expect(error.message.split('\n')).toEqual([
      '--concurrency "x": expected a whole number from 1 to 1000',
      'TETHER_LOG_LEVEL "y": expected one of debug, info, warn, error, silent',
    ]);
  });

  test.each(['http://host', 'redis://', 'host:6379', 'redis://:s3cret@host/x'])(
    'a Redis URL %s, without its password',
    (url) => {
      const { message } = complaint({ redisUrl: url });
      expect(message).toContain('--redis-url (not shown): expected a URL such as redis://');
      expect(message).not.toContain('s3cret');
    },
  );

  test('a variable that Kubernetes set for a Service of that name says so', () => {
    const { message } = complaint({}, { TETHER_HTTP_PORT: 'tcp://10.0.0.1:80' });
    expect(message).toContain('enableServiceLinks: false');
  });

  test('a namespace both included and excluded', () => {
    const error = complaint({ includeNamespaces: 'a,b', excludeNamespaces: 'b' });
    expect(error.message).toContain('--exclude-namespaces "b"');
  });

  test('our own manager to be taken over from', () => {
    const error = complaint({ adopt: 'other,ours', manager: 'ours' });
    expect(error.message).toBe('--adopt "ours": that is --manager, whose slices are ours already');
  });

  test('a very long value is cut', () => {
    expect(complaint({ concurrency: '9'.repeat(5000) }).message.length).toBeLessThan(200);
  });
});

test('health and metrics are reachable from outside in a pod alone, unless said otherwise', () => {
  expect(readConfig({}, {}).httpHost).toBe('127.0.0.1');
  const pod = { KUBERNETES_SERVICE_HOST: '10.96.0.1' };
  expect(readConfig({}, pod).httpHost).toBe('*');
  expect(readConfig({}, { ...pod, TETHER_HTTP_HOST: '::1' }).httpHost).toBe('::1');
});

describe('the Redis of a command', () => {
  test('is the configured one', () => {
    const config = readConfig({ redisUrl: 'rediss://u:p@host:1/2' }, {});
    expect(resolveRedisUrl(config, folder)).toBe('rediss://u:p@host:1/2');
  });

  test('comes with what TLS and Sentinels need beside the URL', () => {
    const tls = { redisUrl: 'rediss://host', redisCaFile: '/ca.pem', redisTlsServerName: 'r' };
    expect(resolveRedisUrl(readConfig(tls, {}), folder)).toEqual({
      url: 'rediss://host',
      tls: { caFile: '/ca.pem', serverName: 'r' },
    });
    const sentinel = { redisUrl: 'redis+sentinel://a,b/m', redisSentinelPassword: 's3cret' };
    expect(resolveRedisUrl(readConfig(sentinel, {}), folder)).toEqual({
      url: 'redis+sentinel://a,b/m',
      sentinel: { password: 's3cret' },
    });
  });

  test.each([
    [{ redisUrl: 'redis://host', redisCaFile: '/ca.pem' }, 'redis-ca-file', 'begins with rediss'],
    [
      { redisUrl: 'rediss://h', redisCertFile: '/c' },
      'redis-cert-file',
      '--redis-key-file is missing',
    ],
    [
      { redisUrl: 'rediss://h', redisKeyFile: '/k' },
      'redis-key-file',
      '--redis-cert-file is missing',
    ],
    [
      { redisUrl: 'redis://host', redisSentinelPassword: 's3cret' },
      'redis-sentinel-password',
      'redis+sentinel://',
    ],
  ])('is refused with options that do not go together: %j', (flags, flag, message) => {
    const error = complaint(flags);
    expect(error.field).toBe(flag);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('s3cret');
  });

  test('else the private one of this folder', () => {
    const cwd = join(folder, 'up');
    mkdirSync(join(cwd, '.tether'), { recursive: true });
    writeFileSync(redisUrlFile(cwd), 'redis://:pw@127.0.0.1:5555\n');
    expect(resolveRedisUrl(readConfig({}, {}), cwd)).toBe('redis://:pw@127.0.0.1:5555');
  });

  test('else none, in one sentence', () => {
    const resolve = () => resolveRedisUrl(readConfig({}, {}), folder);
    expect(resolve).toThrow(NoRedisError);
    expect(resolve).toThrow(/TETHER_REDIS_URL.*\.tether\/redis-url/);
  });

  test('a damaged record says which file, not what is in it', () => {
    const cwd = join(folder, 'damaged');
    mkdirSync(join(cwd, '.tether'), { recursive: true });
    writeFileSync(redisUrlFile(cwd), 'pw');
    expect(() => resolveRedisUrl(readConfig({}, {}), cwd)).toThrow(/redis-url does not hold/);
  });
});

test('every option is in docs/operating.md with its variable and default', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../docs/operating.md'), 'utf8');
  const rows = docs.split('\n').filter((line) => line.startsWith('| `--'));
  for (const option of Object.values(OPTIONS)) {
    const row = rows.find((line) => line.startsWith(`| \`--${option.flag}\``));
    expect(row).toContain(`\`${option.env}\``);
    if (option.byDefault) expect(row).toContain(`\`${option.byDefault}\``);
  }
  expect(rows.length).toBe(Object.keys(OPTIONS).length);
});

test('the help of an option shows its value, variable and default', () => {
  expect(helpFor('httpPort')).toEqual({
    flags: '--http-port <PORT>',
    help: expect.stringMatching(/\[TETHER_HTTP_PORT; default 0\]$/),
  });
});
