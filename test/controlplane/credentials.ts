import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What every API server of one control plane is started with. */
export interface Credentials {
  /** Bearer token of a user in the group system:masters. */
  readonly adminToken: string;
  readonly tokenFile: string;
  /** Signs and checks service account tokens (TokenRequest works). */
  readonly serviceAccountKeyFile: string;
}

const OWNER_ONLY = { mode: 0o600 };

/** Makes new credentials and writes their files into `dir`. */
export function createCredentials(dir: string): Credentials {
  const adminToken = randomBytes(32).toString('hex');
  const tokenFile = join(dir, 'tokens.csv');
  writeFileSync(tokenFile, `${adminToken},admin,admin,"system:masters"\n`, OWNER_ONLY);
  const serviceAccountKeyFile = join(dir, 'service-account.key');
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    // The form that Kubernetes reads as a private key of this kind.
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  });
  writeFileSync(serviceAccountKeyFile, privateKey, OWNER_ONLY);
  return { adminToken, tokenFile, serviceAccountKeyFile };
}

/** Writes a kubeconfig that needs no other file: CA and token are inside, so it is owner-only. */
export function writeKubeconfig(path: string, name: string, access: ClusterAccess): void {
  const text = `apiVersion: v1
kind: Config
clusters:
- name: ${name}
  cluster:
    server: ${access.server}
    certificate-authority-data: ${Buffer.from(access.ca).toString('base64')}
users:
- name: ${name}-admin
  user:
    token: ${access.token}
contexts:
- name: ${name}
  context:
    cluster: ${name}
    user: ${name}-admin
current-context: ${name}
`;
  writeFileSync(path, text, OWNER_ONLY);
}

/** What a client needs to reach one API server. */
export interface ClusterAccess {
  /** `https://127.0.0.1:PORT` */
  readonly server: string;
  /** The certificate authority, as PEM. */
  readonly ca: string;
  readonly token: string;
}
