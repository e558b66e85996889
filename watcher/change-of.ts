import type {
  ApiEndpointSlice,
  ApiExternalWorkload,
  ApiObject,
  ApiService,
} from '../core/api-objects.ts';
import {
  encodeService,
  encodeSlice,
  encodeWorkload,
  type Encoded,
  type Kind,
} from '../core/codec.ts';
import { projectService, projectSlice, projectWorkload } from '../core/project.ts';
import type { Change } from '../platform/redis/view/view-writer.ts';

const encoders: Record<Kind, (object: ApiObject) => Encoded> = {
  service: (object) => encodeService(projectService(object as ApiService)),
  workload: (object) => encodeWorkload(projectWorkload(object as ApiExternalWorkload)),
  slice: (object) => encodeSlice(projectSlice(object as ApiEndpointSlice)),
};

/** The object is there, as a list or an ADDED or MODIFIED event shows it. */
export function upsertOf(kind: Kind, object: ApiObject): Change {
  return { op: 'upsert', kind, object: encoders[kind](object) };
}

/**
 * The object is gone; the DELETED event carries the version of its deletion, and the object as it was: the
 * view may never have known it, and is told whom it concerned.
 */
export function removalOf(kind: Kind, object: ApiObject): Change {
  const { name = '', resourceVersion = '', uid = '' } = object.metadata ?? {};
  return { op: 'remove', kind, name, rv: resourceVersion, uid, index: indexOf(kind, object) };
}

/** Gone is also what cannot be read: then nobody can tell whom it concerned. */
function indexOf(kind: Kind, object: ApiObject): string {
  try {
    return encoders[kind](object).index;
  } catch {
    return '';
  }
}

/** The object was not in a list of version `rv`: gone, unless the view has a newer version of it. */
export function vanishedAt(kind: Kind, name: string, rv: string): Change {
  return { op: 'remove', kind, name, rv, uid: '' };
}

export function changeKey(change: Change): string {
  return `${change.kind}/${change.op === 'upsert' ? change.object.name : change.name}`;
}
