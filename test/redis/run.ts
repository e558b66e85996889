/*
 * `npm run test:redis`: the tests that concern Redis, on each kind of Redis that people have, made here from
 * redis-server processes; and what a failover of each does. Words after `--` choose: names of set-ups, and
 * files for jest instead of those that are listed here.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { startPrivateRedis } from '../../platform/redis/private-server.ts';
import { spawnTied } from '../../platform/process/tied-child.ts';
import { startRedisCluster } from './servers/cluster.ts';
import { startSentinelSetup } from './servers/sentinel.ts';
import { findValkey } from './valkey.ts';

const ROOT = join(import.meta.dirname, '../..');
const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(ROOT, 'node_modules/jest/bin/jest.js'),
];
const PASSWORD = 'not-secret';

/** Of these it is known that they ask a single server for what no other kind of Redis has. */
const SINGLE_ONLY = ['credentials-stay'];
/** They have no Redis, or one of their own, or start no process of the product on it. */
const WITHOUT_REDIS = [
  'api-double',
  'bench',
  'cli-events',
  'cli-install',
  'cli-main',
  'crd',
  'demo',
  'reflector',
];

interface Running {
  readonly url: string;
  readonly env?: Readonly<Record<string, string>>;
  stop(): Promise<unknown>;
}

interface Setup {
  readonly name: string;
  /** Files that are left out: they bring servers of their own, or want what this server has not. */
  readonly without: string;
  /** Null where it cannot be had here; the reason is said. */
  start(dir: string): Promise<Running | null>;
}

const OWN_SERVERS = 'contract/redis/|redis-access';

const SETUPS: readonly Setup[] = [
  {
    name: 'valkey',
    // The package of PyPI is built without TLS.
    without: 'contract/redis/tls|redis-access',
    start: async (dir) => {
      const program = findValkey();
      if (program === null) return null;
      const bin = join(dir, 'bin');
      mkdirSync(bin);
      // By the name that the tests start servers of their own by.
      symlinkSync(program, join(bin, 'redis-server'));
      const path = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
      process.env['PATH'] = path;
      const server = await startPrivateRedis();
      return { url: server.url, env: { PATH: path }, stop: server.stop };
    },
  },
  {
    name: 'cluster',
    without: OWN_SERVERS,
    start: (dir) => startRedisCluster({ dir, password: PASSWORD }),
  },
  {
    name: 'sentinel',
    without: OWN_SERVERS,
    start: (dir) => startSentinelSetup({ dir, password: PASSWORD }),
  },
];

const FAILOVER = 'failover';

interface Result {
  readonly name: string;
  readonly code: number | null;
  readonly seconds: number;
}

async function main(words: readonly string[]): Promise<number> {
  const known = [...SETUPS.map(({ name }) => name), FAILOVER];
  const chosen = words.filter((word) => known.includes(word));
  const files = words.filter((word) => !known.includes(word));
  const wanted = (name: string): boolean => chosen.length === 0 || chosen.includes(name);
  const results: Result[] = [];
  for (const setup of SETUPS) {
    if (wanted(setup.name)) results.push(await runOn(setup, files));
  }
  if (wanted(FAILOVER) && (files.length === 0 || chosen.length > 0)) {
    const config = ['--config', join(ROOT, 'test/redis/jest.config.js')];
    results.push(await timed(FAILOVER, () => jest(config)));
  }
  say('');
  for (const { name, code, seconds } of results) {
    say(
      `${name.padEnd(10)} ${code === 0 ? 'passed' : code === null ? 'SKIPPED' : 'FAILED'}  ${seconds} s`,
    );
  }
  return results.every(({ code }) => code === 0 || code === null) ? 0 : 1;
}

async function runOn(setup: Setup, files: readonly string[]): Promise<Result> {
  const dir = mkdtempSync(join(tmpdir(), `tether-${setup.name}-`));
  say(`\n=== ${setup.name} ===`);
  try {
    return await timed(setup.name, async () => {
      const running = await setup.start(dir);
      if (running === null) return null;
      try {
        const env = { ...running.env, TETHER_TEST_REDIS_URL: running.url };
        const wanted = files.length > 0 ? files : suite();
        const without = ['--testPathIgnorePatterns', setup.without];
        // What a test that failed has left open must not keep the others from being told of.
        return await jest(['--forceExit', ...without, '--', ...wanted], env);
      } finally {
        await running.stop();
      }
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The contract suite, and what of the integration suite stands on Redis. */
function suite(): string[] {
  const integration = readdirSync(join(ROOT, 'test/integration'))
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => ![...SINGLE_ONLY, ...WITHOUT_REDIS].some((name) => file.startsWith(name)))
    .map((file) => `test/integration/${file}`);
  return ['test/contract', ...integration];
}

async function jest(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const child = spawnTied(process.execPath, [...JEST, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdout: 'inherit',
    stderr: 'inherit',
  });
  const { code } = await child.exited;
  return code ?? 1;
}

async function timed(name: string, work: () => Promise<number | null>): Promise<Result> {
  const from = performance.now();
  const code = await work();
  return { name, code, seconds: Math.round((performance.now() - from) / 1000) };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main(process.argv.slice(2));
