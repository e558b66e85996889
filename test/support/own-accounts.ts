import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { ofKind, render, type Rendered } from '../helm/helm.ts';
import { kubeconfigOf, partsOfFile } from './cluster-secrets.ts';
import { kubectl } from './kubectl.ts';

/*
 * `TETHER_TEST_OWN_ACCOUNTS=1 npm test -- test/integration`: each role runs as the account that the Helm
 * chart gives it, in every test, instead of as an administrator. What a test makes is the administrator's
 * all the same.
 */
const VARIABLE = 'TETHER_TEST_OWN_ACCOUNTS';
const NAMESPACE = 'tether-accounts';
/** Where cluster Secrets are unless a process is told otherwise. */
const DEFAULT_NAMESPACE = 'tether';
const API_ROLES = ['watcher', 'worker'] as const;
/** Of a process that is both. */
const BOTH = 'up';

export function ownAccounts(): boolean {
  return (process.env[VARIABLE] ?? '') !== '';
}

/** The kubeconfig that a command runs with: its role's, where it is one that has an account. */
export function kubeconfigFor(command: string | undefined, kubeconfig: string): string {
  const known: readonly (string | undefined)[] = [...API_ROLES, BOTH];
  return ownAccounts() && known.includes(command) ? `${kubeconfig}.${command}` : kubeconfig;
}

/** Makes the accounts of the chart in a cluster, and a kubeconfig for each beside that of the cluster. */
export async function makeAccounts(kubeconfig: string): Promise<void> {
  const run = (args: readonly string[], stdin = ''): Promise<string> =>
    kubectl(args, stdin, kubeconfig);
  const objects = await chartObjects(NAMESPACE);
  const kinds = ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding'];
  const both = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: named(BOTH) };
  const made = [
    ...[NAMESPACE, DEFAULT_NAMESPACE].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    })),
    both,
    ...objects.filter(({ kind }) => kinds.includes(kind)).map(forBothToo),
  ];
  await run(['apply', '-f', '-'], stringify({ apiVersion: 'v1', kind: 'List', items: made }));
  await allowClusterSecrets(DEFAULT_NAMESPACE, kubeconfig);
  for (const role of [...API_ROLES, BOTH]) {
    const account = named(role).name;
    const token = await run(['create', 'token', account, '-n', NAMESPACE, '--duration=24h']);
    const { cluster } = partsOfFile(kubeconfig);
    const text = kubeconfigOf({ cluster, user: { token: token.trim() } });
    writeFileSync(`${kubeconfig}.${role}`, text, { mode: 0o600 });
  }
}

/** Lets the accounts read the Secrets of one more namespace, as an install of its own would. */
export async function allowClusterSecrets(namespace: string, kubeconfig: string): Promise<void> {
  const objects = await chartObjects(namespace);
  const items = ['Role', 'RoleBinding'].flatMap((kind) => ofKind(objects, kind)).map(forBothToo);
  const text = stringify({ apiVersion: 'v1', kind: 'List', items });
  await kubectl(['apply', '-f', '-'], text, kubeconfig);
}

const named = (role: string) => ({ name: `tether-${role}`, namespace: NAMESPACE });

/** What the chart makes for these accounts, with cluster Secrets in `secrets`. */
function chartObjects(secrets: string): Promise<Rendered[]> {
  return render(['--set', `clusterSecrets.namespace=${secrets}`], NAMESPACE);
}

interface Binding extends Rendered {
  readonly subjects?: readonly object[];
}

function forBothToo(object: Binding): object {
  if (object.subjects === undefined) return object;
  const subjects = [...object.subjects, { kind: 'ServiceAccount', ...named(BOTH) }];
  return { ...object, subjects };
}
