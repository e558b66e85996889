import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheRoot, type Progress } from '../controlplane/binaries.ts';
import { goBuild, type GoTool } from '../controlplane/go-build.ts';
import { withLock } from '../controlplane/lock.ts';

const MODULE_DIR = import.meta.dirname;
const MODULE = 'helm.sh/helm/v4';

/**
 * Gives the path of helm: that of `TETHER_TEST_HELM` when it is set, else one that is built once from the
 * Go modules that go.mod names, and kept in the user's cache.
 *
 * @param progress takes a line for each step and while the build runs; default standard error.
 * @throws {Error} when Go is missing or fails, or there is no such file.
 */
export async function helmProgram(progress: Progress = toStderr): Promise<string> {
  const given = process.env['TETHER_TEST_HELM'];
  if (given !== undefined && given !== '') {
    if (existsSync(given)) return given;
    throw new Error(`TETHER_TEST_HELM is ${given}, where no file is`);
  }
  const goMod = readFileSync(join(MODULE_DIR, 'go.mod'), 'utf8');
  const version = versionIn(goMod);
  const dir = join(cacheRoot(), 'tether', 'helm', keyOf(version, goMod));
  const program = join(dir, 'helm');
  if (existsSync(program)) return program;
  mkdirSync(dir, { recursive: true });
  await withLock(
    join(dir, '.lock'),
    () => build(program, version, progress),
    (pid) => progress(`waiting for process ${pid}, which builds helm`),
  );
  return program;
}

async function build(program: string, version: string, progress: Progress): Promise<void> {
  // Somebody else may have had the lock before.
  if (existsSync(program)) return;
  progress(`building helm ${version} from Go modules, once: about a minute and a half on 2 cores`);
  const unfinished = `${program}.${process.pid}`;
  const tool: GoTool = {
    name: 'helm',
    package: `${MODULE}/cmd/helm`,
    linkerFlags: `-s -w -X ${MODULE}/internal/version.version=${version}`,
    instead: 'set TETHER_TEST_HELM to the path of a helm 4',
  };
  try {
    await goBuild(tool, MODULE_DIR, unfinished, progress);
    // A rename is atomic: nobody ever runs half a program.
    renameSync(unfinished, program);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

function versionIn(goMod: string): string {
  const version = new RegExp(`\\b${MODULE} (v\\S+)`).exec(goMod)?.[1];
  if (version === undefined) throw new Error(`go.mod in ${MODULE_DIR} lacks ${MODULE}`);
  return version;
}

/** Changes whenever the result of a build would. */
function keyOf(version: string, goMod: string): string {
  const hash = createHash('sha256').update(goMod).digest('hex').slice(0, 8);
  return `helm-${version}-${process.platform}-${process.arch}-${hash}`;
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
