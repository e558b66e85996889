import { InvalidInputError } from '../../core/errors.ts';
import { fileCredentials, readPem } from './credentials.ts';
import type { KubeAccess } from './kubeconfig-access.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The way to the API server that every Pod is given.
 *
 * @param folder where the service account is mounted; another one in tests.
 * @throws InvalidInputError when the Pod has no service account token.
 */
export async function inClusterAccess(
  host: string,
  port: string,
  folder = SERVICE_ACCOUNT,
): Promise<KubeAccess> {
  const tokenFile = `${folder}/token`;
  const credentials = fileCredentials({ tokenFile });
  try {
    await credentials.authorization();
  } catch {
    throw new InvalidInputError(
      'kubeconfig',
      `inside of a cluster, but ${tokenFile} cannot be used: is automountServiceAccountToken off?`,
    );
  }
  const namespace = await readPem(`${folder}/namespace`, 'namespace').catch(() => '');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: await readPem(`${folder}/ca.crt`, 'certificate-authority'),
    insecure: false,
    credentials,
    ...(namespace.trim() === '' ? {} : { namespace: namespace.trim() }),
  };
}
