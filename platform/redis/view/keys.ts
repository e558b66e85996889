import { VIEW_SCHEMA } from '../../../core/codec.ts';

/**
 * Where things are in Redis. Everything of one namespace carries one hash tag, so that one script
 * reaches it and a Redis Cluster spreads namespaces over its masters.
 *
 * `identity` is the view's scope (core/view-scope.ts) and the epoch of the API server's history.
 */
export interface ViewKeys {
  readonly prefix: string;
  readonly identity: string;
}

/** What the names of a namespace's view keys begin with. */
export function viewBase(keys: ViewKeys, namespace: string): string {
  return `${namespaceTag(keys.prefix, namespace)}:${VIEW_SCHEMA}:${keys.identity}:`;
}

export function pendingKey(keys: ViewKeys, namespace: string): string {
  return `${viewBase(keys, namespace)}pending`;
}

/** Random mark set when a namespace's view was filled; its absence means that the data is gone. */
export function birthKey(keys: ViewKeys, namespace: string): string {
  return `${viewBase(keys, namespace)}born`;
}

/** Locks and failure counts know no release and no epoch: two releases exclude each other, too. */
export function lockKey(prefix: string, namespace: string, service: string): string {
  return `${namespaceTag(prefix, namespace)}:lock:${service}`;
}

export function failuresKey(prefix: string, namespace: string): string {
  return `${namespaceTag(prefix, namespace)}:failures`;
}

/** Names of all namespaces that have a view. */
export function namespacesKey(keys: ViewKeys): string {
  return `{${keys.prefix}}:namespaces:${keys.identity}`;
}

/** Keys (`ns/name`) that failed so often in a row that somebody should look. */
export function stuckKey(prefix: string): string {
  return `{${prefix}}:stuck`;
}

export function epochKey(prefix: string, scope: string): string {
  return `{${prefix}}:epoch:${scope}`;
}

function namespaceTag(prefix: string, namespace: string): string {
  return `{${prefix}:${namespace}}`;
}

/** How long a deletion is remembered, in ms: longer than any event can trail behind it. */
export const TOMBSTONE_TTL_MS = 600_000;

/** How long the birth mark of a namespace that was left is remembered, in ms: many heartbeats. */
export const LEFT_TTL_MS = 600_000;
