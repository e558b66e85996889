import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChildExit, TiedChild } from '../../platform/process/tied-child.ts';
import type { ClusterAccess } from './credentials.ts';

const TIMEOUT_MS = 60_000;
const POLL_MS = 25;

/**
 * Waits until an API server answers as ready and has made the namespace `default`.
 *
 * @returns how to reach it, with the authority that it signed its certificate with.
 * @throws {Error} when it ends or is not ready within a minute.
 */
export async function untilReady(
  server: TiedChild,
  certDir: string,
  port: number,
  token: string,
): Promise<ClusterAccess> {
  let end: ChildExit | undefined;
  void server.exited.then((exit) => (end = exit));
  const url = `https://127.0.0.1:${port}`;
  const deadline = Date.now() + TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (end !== undefined) throw new Error(`kube-apiserver ended with ${end.signal ?? end.code}`);
    const ca = readIfThere(join(certDir, 'apiserver.crt'));
    const access = ca === undefined ? undefined : { server: url, ca, token };
    if (access !== undefined && (await isReady(access))) return access;
    await delay(POLL_MS);
  }
  throw new Error(`kube-apiserver was not ready on port ${port} within ${TIMEOUT_MS / 1000} s`);
}

async function isReady(access: ClusterAccess): Promise<boolean> {
  if ((await status(access, '/readyz')) !== 200) return false;
  // Made by a loop of the server's own, a little after it calls itself ready.
  return (await status(access, '/api/v1/namespaces/default')) === 200;
}

/** The status code of a GET; undefined when no answer came. */
function status(access: ClusterAccess, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${access.token}` };
    const request = get(
      `${access.server}${path}`,
      { ca: access.ca, headers, agent: false, timeout: 5000 },
      (response) => {
        response.resume();
        response.on('close', () => resolve(response.statusCode));
      },
    );
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
