import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ApiObject, ObjectMeta } from '../../core/api-objects.ts';
import { helmProgram } from './program.ts';

/** The chart that is tested. */
export const CHART = join(import.meta.dirname, '../../infra/helm/tether');

/** Values of a whole install, by name of their file in values/. */
export const VALUES = ['defaults', 'everything', 'scale-to-zero', 'hpa'] as const;
export type ValuesName = (typeof VALUES)[number];

/** How helm ended. */
export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A rendered object, as far as tests look into it. */
export interface Rendered extends ApiObject {
  readonly kind: string;
  readonly metadata: ObjectMeta & { readonly name: string };
}

const LARGEST_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs helm to its end, in folders of its own: nothing of the user's is read or written. */
export async function helm(args: readonly string[], kubeconfig = ''): Promise<HelmResult> {
  const program = await helmProgram();
  const home = mkdtempSync(join(tmpdir(), 'tether-helm-'));
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_DATA_HOME: home,
    KUBECONFIG: kubeconfig,
  };
  try {
    return await new Promise((resolve) => {
      const options = { env, maxBuffer: LARGEST_OUTPUT_BYTES };
      execFile(program, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, stdout, stderr });
      });
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The arguments that name a set of values. */
export function valuesOf(name: ValuesName): string[] {
  return ['--values', join(import.meta.dirname, 'values', `${name}.yaml`)];
}

/**
 * What the chart makes of values, for release `tether` in `namespace`.
 *
 * @param kubeconfig of a cluster that `--dry-run=server` may look at.
 * @throws {Error} with helm's own words.
 */
export async function render(
  args: readonly string[],
  namespace: string,
  kubeconfig = '',
): Promise<Rendered[]> {
  const command = ['template', 'tether', CHART, '--namespace', namespace, ...args];
  const { code, stdout, stderr } = await helm(command, kubeconfig);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout)
    .map((document): Rendered | null => {
      if (document.errors.length > 0) throw new Error(`not YAML: ${document.errors.join(', ')}`);
      return document.toJS() as Rendered | null;
    })
    .filter((one) => one !== null);
}

/** Those of one kind; of a role, where it is given. `T`: what a test knows of that kind. */
export function ofKind<T extends Rendered>(
  objects: readonly Rendered[],
  kind: string,
  role = '',
): T[] {
  const found = objects.filter((one) => one.kind === kind && one.metadata.name.endsWith(role));
  return found as T[];
}
