import type { ApiObject } from '../../core/api-objects.ts';
import type { ProxiedWrite } from '../support/fault-proxy.ts';
import type { SliceWrite } from './overlaps.ts';
import type { Change, World } from './world.ts';

/** What the members wrote between two quiet points. */
export interface Audit {
  /** All writes of slices, as far as it can be told whose they are. */
  readonly writes: readonly SliceWrite[];
  /** How many of them succeeded. */
  readonly landed: number;
  /** One line for each write that no member may ever make. */
  readonly wrong: readonly string[];
}

/**
 * Every slice version by key and version, so that a write can be judged by what it was made from.
 *
 * @param before the world before the changes.
 */
export function sliceVersions(before: World, changes: readonly Change[]): Map<string, ApiObject> {
  const versions = new Map<string, ApiObject>();
  for (const [key, version] of before.versions('slice')) {
    const slice = before.get('slice', key);
    if (slice !== undefined) versions.set(`${key}@${version}`, slice);
  }
  for (const { kind, namespace, name, revision, object } of changes) {
    if (kind === 'slice' && object !== null)
      versions.set(`${namespace}/${name}@${revision}`, object);
  }
  return versions;
}

/**
 * Judges the writes of slices that succeeded: each update and delete carries the version that it was
 * planned from (rule H1), and that version was a slice of ours (rule B1).
 */
export function audit(
  writes: readonly ProxiedWrite[],
  versions: ReadonlyMap<string, ApiObject>,
  serviceOf: (slice: ApiObject) => string | undefined,
): Audit {
  const judged: SliceWrite[] = [];
  const wrong: string[] = [];
  let landed = 0;
  for (const write of writes) {
    const at = SLICES.exec(write.path);
    if (at === null) continue;
    const { by, from, to, status } = write;
    const made = madeFrom(write, at, versions);
    const service = made.slice === undefined ? undefined : serviceOf(made.slice);
    const succeeded = status >= 200 && status < 300;
    if (succeeded) landed += 1;
    if (service !== undefined) judged.push({ by, service, what: made.what, from, to });
    else if (succeeded) wrong.push(`${by}: ${made.what}, which was no slice of ours`);
  }
  return { writes: judged, landed, wrong };
}

const SLICES = /\/namespaces\/([^/]+)\/endpointslices(?:\/([^/]+))?$/;

/** The slice that a write was made from; for a create the one that it sent. */
function madeFrom(
  write: ProxiedWrite,
  [, namespace, name]: RegExpExecArray,
  versions: ReadonlyMap<string, ApiObject>,
): { readonly what: string; readonly slice: ApiObject | undefined } {
  if (write.method === 'POST') {
    const slice = write.body as ApiObject;
    return { what: `POST ${namespace}/${slice.metadata?.name}`, slice };
  }
  const base = baseOf(write) ?? '(none)';
  const what = `${write.method} ${namespace}/${name} at version ${base}`;
  return { what, slice: versions.get(`${namespace}/${name}@${base}`) };
}

/** The version that a PUT or a DELETE says it was made from. */
function baseOf({ method, body }: ProxiedWrite): string | undefined {
  const sent = body as Partial<Body> | undefined;
  const where = method === 'DELETE' ? sent?.preconditions : sent?.metadata;
  return where?.resourceVersion;
}

interface Body {
  readonly metadata: { readonly resourceVersion?: string };
  readonly preconditions: { readonly resourceVersion?: string };
}
