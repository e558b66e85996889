/** Which namespaces Tether looks at. Both empty: all of them. */
export interface NamespaceFilter {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** The filter as a predicate; the same one for every kind of event (rule A7). */
export function namespacePredicate(filter: NamespaceFilter): (namespace: string) => boolean {
  const include = new Set(filter.include);
  const exclude = new Set(filter.exclude);
  return (namespace) => !exclude.has(namespace) && (include.size === 0 || include.has(namespace));
}
