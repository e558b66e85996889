import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BUNDLE, freshBundle, INPUTS, stampOf } from '../../cli/bundle.js';
import { ROOT, SetupError } from './say.mjs';

/** Needed by few commands, or native: found in node_modules when they are. */
const LEFT_OUT = [
  '@kubernetes/client-node',
  '@opentelemetry/*',
  'prom-client',
  'pino-pretty',
  'msgpackr-extract',
];
/**
 * Lambda's package is its one file, without node_modules: in it is whatever a variable can ask for. A kubeconfig
 * that runs a program, for which the client is, does not work there.
 */
const LEFT_OUT_OF_LAMBDA = ['@kubernetes/client-node', 'msgpackr-extract'];

/** Makes the bundle unless it is there and up to date. */
export async function ensureBundle() {
  if (freshBundle() === undefined) await makeBundle();
}

/** Bundles `tether` into dist/, and notes what it was made from. */
export async function makeBundle() {
  const { build } = await import('esbuild');
  // Beside the old bundle and then in its place: a `tether` may be starting from it.
  const work = join(ROOT, 'node_modules', '.cache', `tether-dist-${process.pid}`);
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const common = {
    absWorkingDir: ROOT,
    outdir: work,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    banner: { js: REQUIRE },
    plugins: [followCreateRequire],
    metafile: true,
    logLevel: 'warning',
  };
  // Lambda's handler is one file and a build of its own: pieces that both would share are more files for
  // every start of a command to load.
  const results = await Promise.all([
    build({ ...common, entryPoints: { main: 'cli/main.ts' }, splitting: true, external: LEFT_OUT }),
    build({ ...common, entryPoints: { lambda: 'cli/lambda.ts' }, external: LEFT_OUT_OF_LAMBDA }),
  ]);
  // A changed package changes the lock file; packages are too many to look at one by one.
  const all = new Set(results.flatMap(({ metafile }) => Object.keys(metafile.inputs)));
  const own = [...all].filter((path) => !path.startsWith('node_modules/'));
  const how = ['scripts/setup/bundle.mjs', 'package-lock.json', 'node_modules/.package-lock.json'];
  const inputs = [...own, ...how].map(stampOf);
  writeFileSync(join(work, basename(INPUTS)), JSON.stringify(inputs));
  swap(work);
  if (freshBundle() === undefined) {
    throw new SetupError(
      `${BUNDLE} was built but is out of date already: a source changed meanwhile`,
    );
  }
}

function swap(work) {
  const old = `${work}-old`;
  try {
    renameSync(join(ROOT, 'dist'), old);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  renameSync(work, join(ROOT, 'dist'));
  rmSync(old, { recursive: true, force: true });
}

/** CommonJS packages call `require` for Node's own modules, which an ES module does not have. */
const REQUIRE =
  "import { createRequire as requireIn } from 'node:module'; const require = requireIn(import.meta.url);";

/** One source loads parts of a package by createRequire, which esbuild does not follow. */
const followCreateRequire = {
  name: 'follow createRequire',
  setup({ onLoad }) {
    onLoad({ filter: /platform\/redis\/queue\/bullmq\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: readFileSync(path, 'utf8')
        .replace('const load = createRequire(import.meta.url);', '')
        .replaceAll('load(', 'require('),
    }));
  },
};
