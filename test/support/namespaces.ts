import { randomBytes } from 'node:crypto';
import { afterAll } from '@jest/globals';
import { apiOk } from './api.ts';
import { allowClusterSecrets, ownAccounts } from './own-accounts.ts';
import { fromRun } from './run.ts';

const created: string[] = [];

/**
 * Makes a new namespace for one test, so that tests never see each other's objects, and gives its
 * name. It is deleted after the test file, without waiting for its objects to go; its Secrets go at once, as
 * a watcher of the next file would complain about those of linked clusters.
 */
export async function freshNamespace(prefix = 'test'): Promise<string> {
  const name = `${prefix}-${randomBytes(5).toString('hex')}`;
  await apiOk('POST', '/api/v1/namespaces', { metadata: { name } });
  created.push(name);
  if (ownAccounts()) await allowClusterSecrets(name, fromRun('kubeconfig'));
  return name;
}

afterAll(async () => {
  for (const name of created.splice(0)) {
    await apiOk('DELETE', `/api/v1/namespaces/${name}/secrets`);
    await apiOk('DELETE', `/api/v1/namespaces/${name}`);
  }
});
