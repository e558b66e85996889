import { InvalidInputError } from './errors.ts';

/** Names one namespaced object, as every queue, lock and log line does. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** A DNS-1123 label: what a namespace, a Service or a hostname is called (at most 63 characters). */
export function isDnsLabel(text: string): boolean {
  return LABEL.test(text);
}

/** A DNS-1123 subdomain: what most objects are called (at most 253 characters). */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && SUBDOMAIN.test(text);
}

/** `namespace/name`, the text form of a key. */
export function formatKey(key: ObjectKey): string {
  return `${key.namespace}/${key.name}`;
}

/**
 * Reads `namespace/name`.
 *
 * @throws InvalidInputError when the text is not two Kubernetes names around one slash. The text
 * itself is quoted up to 80 characters: a key may come from anybody.
 */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  const namespace = text.slice(0, Math.max(slash, 0));
  const name = text.slice(slash + 1);
  if (slash > 0 && isDnsLabel(namespace) && isDnsSubdomain(name)) return { namespace, name };
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  throw new InvalidInputError(
    'key',
    `${JSON.stringify(shown)} is not a key: write it as NAMESPACE/NAME, both Kubernetes names`,
  );
}
