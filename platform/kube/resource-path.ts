/**
 * The resource that an API path is about, for metrics: `endpointslices`, or `pods/status` for a
 * subresource; 'other' for paths that are not about a resource, such as /version.
 */
export function resourceOf(path: string): string {
  const parts = path.split('/').slice(1);
  const root = parts[0] === 'api' ? 2 : parts[0] === 'apis' ? 3 : -1;
  if (root < 0 || parts.length <= root) return 'other';
  const namespaced = parts[root] === 'namespaces' && parts.length > root + 2;
  const at = namespaced ? root + 2 : root;
  const resource = parts[at] ?? 'other';
  const subresource = parts[at + 2];
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}
