const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** Whether a host that is listened on is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host);
}
