import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { packageFile } from '../package-file.ts';

/** What the definition of ExternalWorkload is called in a cluster. */
export const CRD_NAME = 'externalworkloads.workload.linkerd.io';

const FILE = 'infra/crd/externalworkloads.yaml';
const LABEL_MANAGED_BY = 'app.kubernetes.io/managed-by';
const MANAGED_BY_TETHER = 'tether';

/** The label every Linkerd chart and `linkerd install --crds` puts on what it creates. */
const LABEL_LINKERD = 'linkerd.io/control-plane-ns';

/**
 * Who put a definition of ExternalWorkload into a cluster. Only `tether`'s may be replaced unasked:
 * two owners that apply different schemas in turn would each undo the other.
 */
export type CrdOwner =
  | { readonly kind: 'tether' }
  | {
      readonly kind: 'other';
      /** For a message: `Linkerd`, `Helm`, `somebody else`. */ readonly name: string;
    };

/**
 * The CustomResourceDefinition that this version of Tether brings, parsed from the YAML that ships
 * with it, ready for a server-side apply.
 *
 * @throws Error when the file is missing or is no YAML: the package is broken.
 */
export function loadCrdManifest(): unknown {
  return parse(readFileSync(crdManifestPath(), 'utf8'));
}

/** Where that YAML is on disk, for tools that take a file name. */
export function crdManifestPath(): string {
  return packageFile(FILE);
}

/** Tells from its labels who installed a definition that was read from a cluster. */
export function crdOwner(crd: unknown): CrdOwner {
  const labels = labelsOf(crd);
  const manager = labels[LABEL_MANAGED_BY];
  // Linkerd's first: a tool that rewrites app.kubernetes.io labels does not make it ours.
  if (labels[LABEL_LINKERD] !== undefined) return { kind: 'other', name: 'Linkerd' };
  if (manager === MANAGED_BY_TETHER) return { kind: 'tether' };
  return { kind: 'other', name: manager ?? 'somebody else' };
}

function labelsOf(object: unknown): Readonly<Record<string, string | undefined>> {
  const labels = field(field(object, 'metadata'), 'labels');
  if (typeof labels !== 'object' || labels === null) return {};
  return Object.fromEntries(
    Object.entries(labels).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );
}

function field(object: unknown, name: string): unknown {
  if (typeof object !== 'object' || object === null) return undefined;
  return Object.entries(object).find(([key]) => key === name)?.[1];
}
