import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { SliceRecord } from '../../core/records.ts';
import type { PlanInput } from '../../functions/plan/types.ts';

/** What Kubernetes' reconciler made of a case (`outcome` in records.go). */
export interface UpstreamOutcome {
  readonly slices: readonly SliceRecord[];
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  readonly error?: string;
}

const GO = 'go';
const SOURCES = import.meta.dirname;

/** Whether these sources were built already. */
export function upstreamIsBuilt(): boolean {
  return existsSync(programPath());
}

/**
 * The program that runs upstream's reconciler; built by the set-up or by the first run of these sources,
 * then taken from the user's cache.
 *
 * @throws Error with a sentence that says what to do when there is no Go, or when the build fails.
 */
export function buildUpstream(): string {
  const program = programPath();
  if (existsSync(program)) return program;
  mkdirSync(dirname(program), { recursive: true });
  const fresh = `${program}.${process.pid}`;
  const build = spawnSync(GO, ['build', '-trimpath', '-o', fresh, '.'], {
    cwd: SOURCES,
    encoding: 'utf8',
  });
  if (build.error !== undefined) {
    throw new Error(
      `the parity test needs Go 1.26 or newer on the PATH to build test/parity (${build.error.message}); see https://go.dev/doc/install`,
    );
  }
  if (build.status !== 0) throw new Error(`go build of test/parity failed:\n${build.stderr}`);
  renameSync(fresh, program);
  return program;
}

/** Runs upstream over cases, in their order. About 1 ms a case. */
export function runUpstream(program: string, inputs: readonly PlanInput[]): UpstreamOutcome[] {
  const run = spawnSync(program, [], {
    input: inputs.map((input) => `${JSON.stringify(input)}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  // When the program dies early, its own words say more than the broken pipe.
  if (run.error !== undefined) throw new Error(`upstream: ${run.stderr}`, { cause: run.error });
  const lines = run.stdout.split('\n').slice(0, -1);
  if (run.status !== 0 || lines.length !== inputs.length) {
    throw new Error(`upstream answered ${lines.length} of ${inputs.length} cases:\n${run.stderr}`);
  }
  return lines.map((line): UpstreamOutcome => JSON.parse(line));
}

function programPath(): string {
  return join(cacheFolder(), sourceHash(), 'parity');
}

function cacheFolder(): string {
  const base = process.env['XDG_CACHE_HOME'];
  return join(
    base === undefined || base === '' ? join(homedir(), '.cache') : base,
    'tether',
    'parity',
  );
}

function sourceHash(): string {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  for (const name of readdirSync(SOURCES).sort()) {
    if (/^go\.(mod|sum)$|\.go$/.test(name))
      hash.update(name).update(readFileSync(join(SOURCES, name)));
  }
  return hash.digest('hex').slice(0, 16);
}
