import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { ACCOUNTS, SERVICE_ACCOUNT_KEY, TOKEN_FILE } from './accounts.ts';

// Makes what kube-apiserver is started with: a token for each account, and the key for the tokens of
// service accounts. What is there stays: the data of the cluster outlives its containers.

function tokens(): string {
  const lines = ACCOUNTS.map(({ user, groups }) => {
    const token = randomBytes(32).toString('hex');
    return `${token},${user},${user},"${groups.join(',')}"\n`;
  });
  return lines.join('');
}

function serviceAccountKey(): string {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    // The form that Kubernetes reads as a private key of this kind.
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  });
  return privateKey;
}

function makeOnce(path: string, content: () => string): void {
  const made = !existsSync(path);
  if (made) writeFileSync(path, content(), { mode: 0o600 });
  process.stdout.write(`${path}: ${made ? 'made' : 'there'}\n`);
}

makeOnce(TOKEN_FILE, tokens);
makeOnce(SERVICE_ACCOUNT_KEY, serviceAccountKey);
