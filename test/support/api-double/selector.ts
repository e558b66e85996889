import type { ApiObject } from '../../../core/api-objects.ts';

/** Whether an object is asked for. */
export type Selector = (object: ApiObject) => boolean;

/** A selector that this double, or any API server, cannot read. */
export class SelectorError extends Error {}

const FIELDS = ['metadata.name', 'metadata.namespace'] as const;

/**
 * What `labelSelector` and `fieldSelector` of a query ask for; undefined: everything.
 *
 * @throws {SelectorError}
 */
export function selectorOf(query: URLSearchParams): Selector | undefined {
  const labels = termsOf(query.get('labelSelector')).map(labelTerm);
  const fields = termsOf(query.get('fieldSelector')).map(fieldTerm);
  const all = [...labels, ...fields];
  return all.length === 0 ? undefined : (object) => all.every((matches) => matches(object));
}

function termsOf(text: string | null): string[] {
  return (text ?? '').split(',').filter((term) => term !== '');
}

/** `a=b`, `a==b`, `a!=b`, `a`, `!a`. */
function labelTerm(term: string): Selector {
  const [, not = '', key = '', operator, value] =
    /^(!?)([\w./-]+)(?:(==?|!=)([\w.-]*))?$/.exec(term) ?? [];
  if (key === '' || (not !== '' && operator !== undefined)) {
    throw new SelectorError(`unable to parse requirement: ${term}`);
  }
  const labelOf = (object: ApiObject): string | undefined => object.metadata?.labels?.[key];
  if (operator === undefined) return (object) => (labelOf(object) === undefined) === (not !== '');
  return (object) => (labelOf(object) === value) === (operator !== '!=');
}

function fieldTerm(term: string): Selector {
  const [, path, operator, value] = /^([\w.]+)(==?|!=)(.*)$/.exec(term) ?? [];
  const field = FIELDS.find((known) => known === path);
  if (field === undefined) throw new SelectorError(`field label not supported: ${path ?? term}`);
  const name = field === 'metadata.name' ? 'name' : 'namespace';
  return ({ metadata }) => (metadata?.[name] === value) === (operator !== '!=');
}
