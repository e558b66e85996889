/**
 * Whether the server itself said this, whatever it says: it is there, and the connection is as good as ever.
 * By name, since ioredis exports the class without a type.
 */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}
