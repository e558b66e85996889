// Sets up what a command needs, then runs it with the project's own Node 24. This file and those in
// setup/ run before anything is installed, on any Node from 18 on: Node's own modules only (packages once they
// are there), no types.
import { ensureBundle } from './setup/bundle.mjs';
import { ensureControlPlane } from './setup/control-plane.mjs';
import { ensureDependencies, ensureTetherLink } from './setup/dependencies.mjs';
import { ensureDocker } from './setup/docker.mjs';
import { ensureHelm } from './setup/helm.mjs';
import { ensureParity } from './setup/parity.mjs';
import { ensureRedis } from './setup/redis.mjs';
import { runTarget } from './setup/run.mjs';
import { SetupError } from './setup/say.mjs';

const JEST = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

const EVERYTHING = ['redis', 'controlPlane', 'bundle'];

/** What each command needs and runs; `args` are for Node 24. */
const TARGETS = {
  demo: { needs: EVERYTHING, args: ['demo/demo.ts'] },
  test: {
    needs: [...EVERYTHING, 'helm', 'parity'],
    args: [...JEST, 'node_modules/jest/bin/jest.js'],
  },
  'test:compose': { needs: ['docker', 'controlPlane'], args: ['test/compose/run.ts'] },
  'test:redis': { needs: EVERYTHING, args: ['test/redis/run.ts'] },
  check: { needs: [], args: ['scripts/check.mjs'] },
  fuzz: { needs: EVERYTHING, args: ['test/fuzz/cli.ts'] },
  bench: { needs: EVERYTHING, args: ['bench/run.ts'] },
  // It builds its programs itself, and `down` needs none.
  controlplane: { needs: [], args: ['test/controlplane/cli.ts'] },
  format: { needs: [], args: ['node_modules/prettier/bin/prettier.cjs', '--write', '.'] },
  build: { needs: [], args: ['scripts/build.mjs'] },
  dashboard: { needs: [], args: ['infra/dashboard/build.ts'] },
  setup: { needs: [...EVERYTHING, 'helm', 'parity'], args: undefined },
};

const NEEDS = {
  redis: ensureRedis,
  controlPlane: ensureControlPlane,
  bundle: ensureBundle,
  docker: ensureDocker,
  helm: ensureHelm,
  parity: ensureParity,
};

async function main([name, ...args]) {
  const target = Object.hasOwn(TARGETS, name ?? '') ? TARGETS[name] : undefined;
  if (target === undefined) {
    throw new SetupError(`say one of ${Object.keys(TARGETS).join(', ')}, not "${name ?? ''}"`);
  }
  await ensureDependencies();
  ensureTetherLink();
  for (const need of target.needs) await NEEDS[need]();
  return target.args === undefined ? 0 : runTarget([...target.args, ...args]);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`set-up: ${error.message}\n`);
  process.exitCode = error.exitCode;
}
