import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane, type ControlPlane } from '../controlplane/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { spawnTether } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/** Runs the commands of examples/link-cluster/README.md as a reader would, on two clusters of its own. */
const ROOT = join(import.meta.dirname, '../..');
const README = join(ROOT, 'examples/link-cluster/README.md');
const PREFIX = `example-${process.pid}`;

const dir = mkdtempSync(join(tmpdir(), 'tether-example-'));
let controlPlane: ControlPlane | undefined;
let here = '';
let east = '';

beforeAll(async () => {
  const binaries = await controlPlaneBinaries();
  controlPlane = await startControlPlane({ binaries, dir, clusters: 2 });
  [here = '', east = ''] = controlPlane.clusters.map(({ kubeconfig }) => kubeconfig);
  script('kubectl', `exec "${binaries.kubectl}" "$@"`);
  script('tether', `exec "${process.execPath}" "${join(ROOT, 'cli/bin.js')}" "$@"`);
});
afterAll(async () => {
  await controlPlane?.stop();
  rmSync(dir, { recursive: true, force: true });
});

function script(name: string, body: string): void {
  writeFileSync(join(dir, name), `#!/bin/sh\n${body}\n`, { mode: 0o700 });
}

const environment = (): Record<string, string> => ({
  KUBECONFIG: here,
  EAST: east,
  TETHER_REDIS_URL: fromRun('redisUrl'),
  TETHER_REDIS_PREFIX: PREFIX,
  TETHER_CLUSTERS_ALLOW_LOOPBACK: 'true',
});

/** The commands of all shell blocks, in order. */
function commands(): string[] {
  const blocks = readFileSync(README, 'utf8').matchAll(/^```sh\n(.*?)^```$/gms);
  const text = [...blocks].map(([, block = '']) => block).join('');
  return text.replaceAll('\\\n', ' ').trim().split('\n');
}

function run(command: string, lookup: string): Promise<string> {
  const env = { ...process.env, ...environment(), LOOKUP: lookup };
  const path = `${dir}:${process.env['PATH'] ?? ''}`;
  return new Promise((resolve, reject) => {
    const options = { cwd: ROOT, env: { ...env, PATH: path } };
    execFile('sh', ['-c', command], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${command}: ${stderr.trim() || error.message}`));
    });
  });
}

/** What of an output shows that a command did what the README says. */
const EXPECTED: readonly (readonly [command: RegExp, output: RegExp])[] = [
  [/^tether reconcile cluster/, /east/],
  [/^tether lookup east/, /192\.0\.2\.11 +sql:5432 +east/],
  [/^curl .*db-east/, /"address":"192\.0\.2\.12"/],
  [/^curl .*db-federated/, /"complete":false.*"address":"192\.0\.2\.12"/],
  [/^tether status/, /^east +Ready/m],
];

test('the commands of examples/link-cluster do what its README says', async () => {
  const up = spawnTether(['up', '--http-port', '0'], { env: environment() });
  const [, lookup = ''] = await up.untilLog(/"lookupUrl":"([^"]+)"/);
  const left = new Set(EXPECTED);
  for (const command of commands()) {
    const expected = EXPECTED.find(([pattern]) => pattern.test(command));
    const changesNothing = /^(curl|tether (lookup|status)) /.test(`${command} `);
    const once = async (): Promise<void> => {
      const output = await run(command, lookup);
      if (expected !== undefined) expect(output).toMatch(expected[1]);
    };
    // What changes something is typed once; what looks is typed until it is there.
    await (changesNothing ? eventually(once) : once());
    if (expected !== undefined) left.delete(expected);
  }
  expect(left).toEqual(new Set());
  await up.stop();
});
