/**
 * The `code` of an error of Node or undici, such as ECONNREFUSED or ENOENT, its own or that of what
 * caused it. It looks at the shape alone: an error may come from another realm.
 */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === 'string') return code;
  if (Array.isArray(errors)) return errorCode(errors[0]);
  return errorCode(cause);
}
