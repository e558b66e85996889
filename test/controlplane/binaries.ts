import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { goBuild, type GoTool } from './go-build.ts';
import { withLock } from './lock.ts';

/** Where the programs of the control plane are. */
export interface Binaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubeControllerManager: string;
  readonly kubectl: string;
}

/** A program is missing or does not build; the message says which and what to do. */
class BinariesError extends Error {
  override readonly name = 'BinariesError';
}

/** Takes one line of progress. */
export type Progress = (line: string) => void;

const MODULE_DIR = import.meta.dirname;
const NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'] as const;
type Name = (typeof NAMES)[number];
const PACKAGES: Record<Name, string> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
};
const INSTEAD =
  'set KUBEBUILDER_ASSETS to a folder that holds etcd, kube-apiserver, kube-controller-manager and kubectl';

/**
 * Gives the four programs: from the folder `KUBEBUILDER_ASSETS` when it is set (the convention of
 * envtest), else from the user's cache, where each is built once from the Go modules that go.mod
 * names (about five minutes on two cores; later calls take milliseconds).
 *
 * @param progress takes a line for each step and while a build runs; default standard error.
 * @throws {BinariesError} when a program is missing from that folder, or Go is missing or fails.
 */
export async function controlPlaneBinaries(progress: Progress = toStderr): Promise<Binaries> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (assets !== undefined && assets !== '') return fromAssets(assets);
  const recipe = readRecipe();
  const dir = join(cacheRoot(), 'tether', 'controlplane', recipe.key);
  if (missingIn(dir).length > 0) {
    mkdirSync(dir, { recursive: true });
    await withLock(
      join(dir, '.lock'),
      () => buildMissing(dir, recipe, progress),
      (pid) => progress(`waiting for process ${pid}, which builds the control plane`),
    );
  }
  return inFolder(dir);
}

async function buildMissing(dir: string, recipe: Recipe, progress: Progress): Promise<void> {
  const missing = missingIn(dir);
  if (missing.length > 0) {
    progress(
      `building ${missing.join(', ')} (Kubernetes ${recipe.kubernetes}, etcd ${recipe.etcd}) ` +
        'from Go modules, once: about 5 minutes on 2 cores',
    );
  }
  for (const name of missing) {
    const unfinished = join(dir, `.${name}.${process.pid}`);
    const { linkerFlags } = recipe;
    const tool: GoTool = { name, package: PACKAGES[name], linkerFlags, instead: INSTEAD };
    try {
      await goBuild(tool, MODULE_DIR, unfinished, progress);
      // A rename is atomic: nobody ever runs half a program.
      renameSync(unfinished, join(dir, name));
    } catch (error) {
      throw new BinariesError(error instanceof Error ? error.message : String(error));
    } finally {
      rmSync(unfinished, { force: true });
    }
  }
}

interface Recipe {
  readonly kubernetes: string;
  readonly etcd: string;
  readonly linkerFlags: string;
  /** Changes whenever the result of a build would. */
  readonly key: string;
}

function readRecipe(): Recipe {
  const goMod = readFileSync(join(MODULE_DIR, 'go.mod'), 'utf8');
  const kubernetes = versionOf('k8s.io/kubernetes', goMod);
  const etcd = versionOf('go.etcd.io/etcd/server/v3', goMod);
  const linkerFlags = versionFlags(kubernetes);
  const hash = createHash('sha256').update(goMod).update(linkerFlags).digest('hex').slice(0, 8);
  const platform = `${process.platform}-${process.arch}`;
  const key = `kubernetes-${kubernetes}-etcd-${etcd}-${platform}-${hash}`;
  return { kubernetes, etcd, linkerFlags, key };
}

function versionOf(module: string, goMod: string): string {
  const version = goMod
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([name, second]) => name === module && second?.startsWith('v'))?.[1];
  if (version === undefined) throw new BinariesError(`go.mod in ${MODULE_DIR} lacks ${module}`);
  return version;
}

/** Built from a module, Kubernetes does not know its own version: clients would see v0.0.0. */
function versionFlags(version: string): string {
  const [major = '', minor = ''] = version.slice(1).split('.');
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const sets = Object.entries(values).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  );
  return ['-s', '-w', ...sets].join(' ');
}

function fromAssets(dir: string): Binaries {
  const missing = missingIn(dir);
  if (missing.length === 0) return inFolder(dir);
  throw new BinariesError(
    `KUBEBUILDER_ASSETS is ${dir}, which lacks ${missing.join(', ')}. Put the missing programs ` +
      'there, or unset KUBEBUILDER_ASSETS to have all of them built from Go modules',
  );
}

function inFolder(dir: string): Binaries {
  return {
    etcd: join(dir, 'etcd'),
    kubeApiserver: join(dir, 'kube-apiserver'),
    kubeControllerManager: join(dir, 'kube-controller-manager'),
    kubectl: join(dir, 'kubectl'),
  };
}

function missingIn(dir: string): Name[] {
  return NAMES.filter((name) => {
    try {
      accessSync(join(dir, name), constants.X_OK);
      return false;
    } catch {
      return true;
    }
  });
}

/** Where what is built once is kept: `$XDG_CACHE_HOME`, else `~/.cache`. */
export function cacheRoot(): string {
  const configured = process.env['XDG_CACHE_HOME'];
  return configured === undefined || configured === '' ? join(homedir(), '.cache') : configured;
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
