import { readFileSync, readdirSync } from 'node:fs';
import { expect } from '@jest/globals';
import { request } from 'undici';
import { apiOk } from './api.ts';
import { fromRun } from './run.ts';

/** The etcd behind the API server of a kubeconfig: only the API server's own command line tells. */
export function etcdOf(kubeconfig: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const port = /server: https:\/\/[^\s]+:(\d+)/.exec(readFileSync(kubeconfig, 'utf8'))?.[1];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const command = commandLine(pid);
    if (!command.includes(`--secure-port=${port}`)) continue;
    return command.find((argument) => argument.startsWith('--etcd-servers='))?.split('=')[1];
  }
  return undefined;
}

/**
 * Forgets all history up to now, through etcd's JSON gateway; every client must bear it as well.
 *
 * @param kubeconfig of an API server that stores there; default: the cluster of this run.
 */
export async function compact(url: string, kubeconfig = fromRun('kubeconfig')): Promise<void> {
  const list = (await apiOk('GET', '/api/v1/namespaces?limit=1', undefined, { kubeconfig })) as {
    readonly metadata: { readonly resourceVersion: string };
  };
  const body = JSON.stringify({ revision: list.metadata.resourceVersion });
  const answer = await request(`${url}/v3/kv/compaction`, { method: 'POST', body, reset: true });
  await answer.body.dump();
  expect(answer.statusCode).toBe(200);
}

function commandLine(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
