/*
 * A second fence: no code of ours hands credentials to a log line, but an error of a library may
 * quote a URL, and an answer of a server may quote anything.
 */

const HIDDEN = '[hidden]';

/** Field names (lower case, letters only) whose values are credentials, whatever they look like. */
const SECRET_FIELDS = new Set([
  'authorization',
  'bearertoken',
  'clientcertificatedata',
  'clientkeydata',
  'clientsecret',
  'cookie',
  'credential',
  'credentials',
  'idtoken',
  'kubeconfig',
  'kubeconfigdata',
  'passwd',
  'password',
  'privatekey',
  'refreshtoken',
  'secret',
  'token',
]);

const RULES: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // redis://user:password@host, and any other URL with user information. The last @ before the path
  // ends it, as a password may hold one. What a message gives as the form of a URL stays.
  [/\b([a-z][a-z0-9+.-]*:\/\/)(?!\[user:password@\])[^\s/?#"']*@/gi, `$1${HIDDEN}@`],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  [/\beyJ[\w-]{8,}\.[\w-]+(\.[\w-]*)?/g, HIDDEN],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, HIDDEN],
  [
    /\b(client-key-data|client-certificate-data|id-token|refresh-token|token|password)(["']?\s*[:=]\s*["']?)[^\s"',}]{4,}/gi,
    `$1$2${HIDDEN}`,
  ],
];

/** Cheap look for anything that a rule could bite on; most lines end here. */
const SUSPECT = /:\/\/|bearer|basic |eyJ|PRIVATE KEY|-data|token|password/i;

const MAX_DEPTH = 4;

/** A text without passwords, tokens and private keys. */
export function redactText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return RULES.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), text);
}

/** A copy of a log line's fields without credentials; errors become their messages. */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const name in fields) clean[name] = redactField(name, fields[name], 1);
  return clean;
}

function redactField(name: string, value: unknown, depth: number): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (isSecretName(name) && value !== undefined && value !== null) {
    return name === 'secret' && isObjectName(value) ? value : HIDDEN;
  }
  return redactValue(value, depth);
}

/** Lines about a cluster Secret say which one it is: `namespace/name`. */
function isObjectName(value: unknown): boolean {
  return typeof value === 'string' && /^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/.test(value);
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return redactError(value);
  if (depth > MAX_DEPTH) return '[…]';
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
  const clean: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    clean[name] = redactField(name, inner, depth + 1);
  }
  return clean;
}

/** Without the stack for errors that are raised on purpose (they have a code): a person reads these. */
function redactError(error: Error): Record<string, unknown> {
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    message: redactText(error.message),
    ...(code === undefined ? { stack: redactText(error.stack ?? '') } : { code }),
    ...(cause === undefined || error.message.includes(cause) ? {} : { cause: redactText(cause) }),
  };
}

const secretNames = new Map<string, boolean>();

function isSecretName(name: string): boolean {
  const known = secretNames.get(name);
  if (known !== undefined) return known;
  const secret = SECRET_FIELDS.has(name.toLowerCase().replace(/[^a-z]/g, ''));
  // Field names are few; a caller that makes them up must not fill the memory.
  if (secretNames.size < 1000) secretNames.set(name, secret);
  return secret;
}
