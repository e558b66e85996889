import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { cacheDir } from './daemon.ts';
import { execute, must } from './execute.ts';
import { baseImage, imageOf } from './images.ts';

// Images for a machine that reaches no registry: what the real ones hold, from Debian and from the
// programs that the tests have built, under the same names.

const ROOT = join(import.meta.dirname, '../..');
const RECIPES = join(import.meta.dirname, 'stand-ins');
const LABEL = 'dev.tether.stand-in';
const DEBIAN = 'tether-stand-in/debian';
const TOOLS = 'tether-stand-in/tools';
const PULL_MS = 60_000;
/** Debian's own, which `apt-get` inside of the images uses as well. */
const MIRROR = 'http://deb.debian.org/debian';
/** What slim images leave out. */
const NOT_SLIM = ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/info'];

export interface ImagesContext {
  readonly env: Readonly<Record<string, string>>;
  readonly progress: (line: string) => void;
}

interface StandIn {
  readonly name: string;
  /** Name of its Dockerfile in stand-ins/. */
  readonly recipe: string;
  /** Files for the build, by their place in its context. */
  readonly files: () => Promise<Readonly<Record<string, string>>>;
}

const NO_FILES = (): Promise<Readonly<Record<string, string>>> => Promise.resolve({});

function standIns(): readonly StandIn[] {
  return [
    { name: baseImage(), recipe: 'node', files: nodeFiles },
    { name: imageOf('valkey'), recipe: 'valkey', files: NO_FILES },
    { name: imageOf('etcd'), recipe: 'etcd', files: () => program('etcd') },
    {
      name: imageOf('kube-apiserver'),
      recipe: 'kube-apiserver',
      files: () => program('kubeApiserver'),
    },
    { name: imageOf('prometheus'), recipe: 'prometheus', files: NO_FILES },
  ];
}

/**
 * Sees to every image of the compose files but Grafana's, which is nowhere but in a registry: what is
 * there stays, what can be pulled is pulled, for the rest a stand-in is made. Gives the stand-ins.
 */
export async function provideImages(context: ImagesContext): Promise<readonly string[]> {
  const wanted = standIns();
  const real = await Promise.all(wanted.map((standIn) => isReal(standIn.name, context)));
  const needed = wanted.filter((_, index) => real[index] === false);
  const names = needed.map(({ name }) => name);
  if (needed.length === 0) return [];
  context.progress(`no registry has them for us, so these are stand-ins: ${names.join(', ')}`);
  for (const standIn of needed) await makeUnlessCurrent(standIn, context);
  return names;
}

/** Whether the image itself is there, or could be pulled. */
async function isReal(name: string, { env }: ImagesContext): Promise<boolean> {
  const label = await labelOf(name, env);
  if (label !== undefined) return label === '';
  const { code } = await execute('docker', ['pull', '--quiet', name], { env, timeoutMs: PULL_MS });
  return code === 0;
}

/** What a stand-in was made from; '' for an image that is none, undefined for no image. */
async function labelOf(
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const format = `{{index .Config.Labels "${LABEL}"}}`;
  const { code, stdout } = await execute('docker', ['image', 'inspect', '--format', format, name], {
    env,
  });
  return code === 0 ? stdout.trim() : undefined;
}

async function makeUnlessCurrent(standIn: StandIn, context: ImagesContext): Promise<void> {
  const fingerprint = fingerprintOf(standIn);
  if ((await labelOf(standIn.name, context.env)) === fingerprint) return;
  if (standIn.recipe !== 'kube-apiserver') await makeDebian(context);
  if (['valkey', 'etcd', 'prometheus'].includes(standIn.recipe)) {
    await build({ name: TOOLS, recipe: 'tools', files: NO_FILES }, 'tools', context);
  }
  await build(standIn, fingerprint, context);
}

/** Changes with the recipes, and with the programs, whose versions these two files hold. */
function fingerprintOf({ recipe }: StandIn): string {
  const files = [
    join(RECIPES, `${recipe}.Dockerfile`),
    join(RECIPES, 'tools.Dockerfile'),
    join(ROOT, 'test/controlplane/go.mod'),
    join(ROOT, 'node_modules/node/package.json'),
  ];
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 12);
}

async function build(
  { name, recipe, files }: StandIn,
  fingerprint: string,
  { env, progress }: ImagesContext,
): Promise<void> {
  const start = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'tether-stand-in-'));
  try {
    for (const [place, source] of Object.entries(await files())) {
      mkdirSync(dirname(join(folder, place)), { recursive: true });
      cpSync(source, join(folder, place), { recursive: true, verbatimSymlinks: true });
    }
    const dockerfile = join(RECIPES, `${recipe}.Dockerfile`);
    const args = ['build', '--quiet', '-f', dockerfile, '-t', name];
    await must('docker', [...args, '--label', `${LABEL}=${fingerprint}`, folder], { env });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  progress(`stand-in for ${name}: made in ${seconds} s`);
}

/** Debian as debootstrap installs it, without what slim images lack. Made once, then kept as a file. */
async function makeDebian({ env, progress }: ImagesContext): Promise<void> {
  if ((await labelOf(DEBIAN, env)) !== undefined) return;
  const archive = join(cacheDir(), `debian-bookworm-${process.arch}.tar`);
  if (!existsSync(archive)) {
    progress('debootstrap of Debian bookworm, once: about half a minute');
    const folder = mkdtempSync(join(cacheDir(), 'debian-'));
    try {
      const flags = ['--variant=minbase', '--include=ca-certificates'];
      await must('debootstrap', [...flags, 'bookworm', folder, MIRROR]);
      const leftOut = [...NOT_SLIM, 'var/cache/apt/archives', 'var/lib/apt/lists'];
      const excludes = leftOut.map((path) => `--exclude=./${path}/*`);
      const unfinished = `${archive}.${process.pid}`;
      await must('tar', ['-C', folder, '-cf', unfinished, ...excludes, '.']);
      renameSync(unfinished, archive);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  await must('docker', ['import', archive, DEBIAN], { env });
}

/** The Node of this project, npm, and the authorities that this machine trusts. */
async function nodeFiles(): Promise<Readonly<Record<string, string>>> {
  const npm = join(cacheDir(), 'npm-11');
  if (!existsSync(join(npm, 'bin/npm'))) {
    await must('npm', [
      'install',
      '--global',
      '--no-audit',
      '--no-fund',
      '--prefix',
      npm,
      'npm@11',
    ]);
  }
  return {
    'local/bin/node': join(ROOT, 'node_modules/node/bin/node'),
    'local/bin': join(npm, 'bin'),
    'local/lib': join(npm, 'lib'),
    'ca-certificates.crt': '/etc/ssl/certs/ca-certificates.crt',
  };
}

async function program(name: 'etcd' | 'kubeApiserver'): Promise<Readonly<Record<string, string>>> {
  const path = (await controlPlaneBinaries())[name];
  return { [basename(path)]: path };
}
