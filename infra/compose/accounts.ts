import { join } from 'node:path';

// Where things are in the containers of docker-compose.yml that make the cluster.

/** Who may use the API server; the rights of the last two are those of infra/rbac. */
export const ACCOUNTS = [
  { user: 'admin', groups: ['system:masters'] },
  { user: 'tether-watcher', groups: [] },
  { user: 'tether-worker', groups: [] },
] as const;

/** `TOKEN,USER,UID,"GROUPS"`, a line an account, as kube-apiserver wants it. */
export const TOKEN_FILE = '/api-server/tokens.csv';

/** Signs and checks the tokens of service accounts. */
export const SERVICE_ACCOUNT_KEY = '/api-server/service-account.key';

/** kube-apiserver signs one for itself, and leaves it here with its authority. */
export const SERVING_CERTIFICATE = '/api-server/serving/apiserver.crt';

/** A name that this certificate always has, wherever the server is reached. */
export const CERTIFICATE_NAME = 'kubernetes.default.svc';

/** Each account has a volume of its own: a role does not see the credential of another. */
export function kubeconfigOf(user: string): string {
  return join('/access', user, 'kubeconfig');
}
