import type { ApiObject } from '../../core/api-objects.ts';
import type { ProxiedWrite } from '../support/fault-proxy.ts';
import type { LandedWrite } from './overlaps.ts';
import type { Change, World } from './world.ts';

/** What the members wrote between two quiet points. */
export interface Audit {
  readonly landed: readonly LandedWrite[];
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
  const landed: LandedWrite[] = [];
  const wrong: string[] = [];
  for (const write of writes) {
    const at = SLICES.exec(write.path);
    if (at === null || write.status < 200 || write.status >= 300) continue;
    const { by, from, to } = write;
    const made = madeFrom(write, at, versions);
    const service = made.slice === undefined ? undefined : serviceOf(made.slice);
    if (service === undefined) wrong.push(`${by}: ${made.what}, which was no slice of ours`);
    else landed.push({ by, service, what: made.what, from, to });
  }
  return { landed, wrong };
}

const SLICES = /\/namespaces\/([^/]+)\/endpointslices(?:\/([^/]+))?$/;

/** The slice that a write was made from; that of a create is the one it made. */
function madeFrom(
  write: ProxiedWrite,
  [, namespace, name]: RegExpExecArray,
  versions: ReadonlyMap<string, ApiObject>,
): { readonly what: string; readonly slice: ApiObject | undefined } {
  if (write.method === 'POST') {
    const slice = write.answer as ApiObject;
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
