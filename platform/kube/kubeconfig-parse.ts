import { parseDocument } from 'yaml';
import type { InvalidInputError } from '../../core/errors.ts';
import { fieldReader, invalid, isFields } from './kubeconfig-fields.ts';
import type { FieldReader, Fields } from './kubeconfig-fields.ts';

/**
 * A kubeconfig as data: no file is opened, nothing is run, no variable is read. Both the loader of
 * the user's own file and the policy for cluster Secrets start from here.
 */
export interface KubeConfigCluster {
  readonly server?: string;
  readonly caFile?: string;
  /** Base64 of PEM, as in the file; the same holds for `certData` and `keyData` of users. */
  readonly caData?: string;
  readonly insecure: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
}

export interface KubeConfigUser {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly certFile?: string;
  readonly certData?: string;
  readonly keyFile?: string;
  readonly keyData?: string;
  readonly username?: string;
  readonly password?: string;
  readonly impersonateUser?: string;
  readonly impersonateUid?: string;
  readonly impersonateGroups?: readonly string[];
  readonly impersonateExtra?: Readonly<Record<string, unknown>>;
  readonly exec?: Readonly<Record<string, unknown>>;
  readonly authProvider?: Readonly<Record<string, unknown>>;
}

export interface KubeConfigContext {
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

export interface KubeConfigData {
  readonly clusters: ReadonlyMap<string, KubeConfigCluster>;
  readonly users: ReadonlyMap<string, KubeConfigUser>;
  readonly contexts: ReadonlyMap<string, KubeConfigContext>;
  /** '' when unset. */
  readonly currentContext: string;
}

/** One context with what it points at. */
export interface SelectedContext {
  readonly name: string;
  readonly cluster: KubeConfigCluster;
  readonly user: KubeConfigUser;
  readonly namespace?: string;
}

/**
 * Reads YAML or JSON.
 *
 * @param source how messages call it, such as a path.
 * @throws InvalidInputError that names the field or the line. It never quotes the text: that holds
 * credentials.
 */
export function parseKubeConfig(text: string, source: string): KubeConfigData {
  const root = parseYaml(text, source);
  const reader = fieldReader(source);
  const named = <T>(list: string, inner: string, read: (at: string, fields: Fields) => T) =>
    namedEntries(reader, root[list], list, inner, read);
  return {
    clusters: named('clusters', 'cluster', (at, fields) => readCluster(reader, at, fields)),
    users: named('users', 'user', (at, fields) => readUser(reader, at, fields)),
    contexts: named('contexts', 'context', (at, fields) => readContext(reader, at, fields)),
    currentContext: reader.text('', root, 'current-context') ?? '',
  };
}

const SHOWN_NAMES = 5;
const SHOWN_LENGTH = 80;

/**
 * The context called `name`, or the current one.
 *
 * @throws InvalidInputError when there is none, or when it names what the file does not have.
 */
export function selectContext(
  config: KubeConfigData,
  name: string | undefined,
  source: string,
): SelectedContext {
  const wanted = name ?? config.currentContext;
  const known = namesOf(config.contexts);
  if (wanted === '') {
    throw invalid(
      source,
      'current-context',
      `no current-context is set (contexts: ${known}); choose one with kubectl config use-context`,
    );
  }
  const context = config.contexts.get(wanted);
  if (context === undefined) {
    throw invalid(
      source,
      'current-context',
      `there is no context ${quote(wanted)} (contexts: ${known})`,
    );
  }
  const cluster = config.clusters.get(context.cluster);
  if (cluster === undefined) throw dangling(source, wanted, 'cluster', context.cluster);
  const user = context.user === '' ? {} : config.users.get(context.user);
  if (user === undefined) throw dangling(source, wanted, 'user', context.user);
  const namespace = context.namespace;
  return { name: wanted, cluster, user, ...(namespace === undefined ? {} : { namespace }) };
}

/** The first few: a message is read by people, and kept in Redis. */
function namesOf(contexts: KubeConfigData['contexts']): string {
  const names = [...contexts.keys()];
  const shown = names.slice(0, SHOWN_NAMES).map(shorten).join(', ') || 'none';
  return names.length > SHOWN_NAMES ? `${shown} and ${names.length - SHOWN_NAMES} more` : shown;
}

function quote(name: string): string {
  return JSON.stringify(shorten(name));
}

function shorten(name: string): string {
  return name.length > SHOWN_LENGTH ? `${name.slice(0, SHOWN_LENGTH)}…` : name;
}

function dangling(source: string, context: string, what: string, name: string): InvalidInputError {
  const [c, n] = [quote(context), quote(name)];
  return invalid(
    source,
    `contexts.${what}`,
    `context ${c} names the ${what} ${n}, which the kubeconfig does not have`,
  );
}

function parseYaml(text: string, source: string): Fields {
  const document = parseDocumentOf(text, source);
  const error = document.errors[0];
  if (error !== undefined) {
    const line = text.slice(0, error.pos[0]).split('\n').length;
    throw invalid(source, 'kubeconfig', `line ${line} is not valid YAML (${error.code})`);
  }
  const root: unknown = toPlain(() => document.toJS({ maxAliasCount: 100 }), source);
  if (root === null || root === undefined) return {};
  if (!isFields(root)) throw invalid(source, 'kubeconfig', 'a kubeconfig is a YAML mapping');
  return root;
}

function parseDocumentOf(text: string, source: string): ReturnType<typeof parseDocument> {
  try {
    // prettyErrors would quote the line, which may be a token. Of two entries of one name the last
    // stands, as with kubectl; looking for such pairs takes time by the square of their number.
    return parseDocument(text, { prettyErrors: false, logLevel: 'error', uniqueKeys: false });
  } catch {
    throw invalid(source, 'kubeconfig', 'its YAML is nested too deeply');
  }
}

/** Too many aliases (a billion laughs) end up here. */
function toPlain(convert: () => unknown, source: string): unknown {
  try {
    return convert();
  } catch {
    throw invalid(source, 'kubeconfig', 'its YAML aliases cannot be resolved');
  }
}

function namedEntries<T>(
  reader: FieldReader,
  list: unknown,
  listName: string,
  inner: string,
  read: (at: string, fields: Fields) => T,
): Map<string, T> {
  const found = new Map<string, T>();
  if (list === undefined || list === null) return found;
  if (!Array.isArray(list)) throw invalid(reader.source, listName, `${listName} must be a list`);
  for (const [index, entry] of list.entries()) {
    const at = `${listName}[${index}]`;
    if (!isFields(entry)) throw invalid(reader.source, at, `${at} must be a mapping`);
    const name = reader.text(at, entry, 'name');
    if (name === undefined) throw invalid(reader.source, at, `${at} has no name`);
    // The first of a name wins, within a file as between files.
    if (found.has(name)) continue;
    found.set(name, read(`${at}.${inner}`, reader.fields(at, entry, inner) ?? {}));
  }
  return found;
}

function readCluster(reader: FieldReader, at: string, fields: Fields): KubeConfigCluster {
  const text = (field: string) => reader.text(at, fields, field);
  return {
    insecure: reader.flag(at, fields, 'insecure-skip-tls-verify'),
    ...present('server', text('server')),
    ...present('caFile', text('certificate-authority')),
    ...present('caData', text('certificate-authority-data')),
    ...present('tlsServerName', text('tls-server-name')),
    ...present('proxyUrl', text('proxy-url')),
  };
}

function readUser(reader: FieldReader, at: string, fields: Fields): KubeConfigUser {
  const text = (field: string) => reader.text(at, fields, field);
  const groups = fields['as-groups'] ?? undefined;
  if (groups !== undefined && !Array.isArray(groups)) {
    throw invalid(reader.source, `${at}.as-groups`, `${at}.as-groups must be a list`);
  }
  return {
    ...present('token', text('token')),
    ...present('tokenFile', text('tokenFile')),
    ...present('certFile', text('client-certificate')),
    ...present('certData', text('client-certificate-data')),
    ...present('keyFile', text('client-key')),
    ...present('keyData', text('client-key-data')),
    ...present('username', text('username')),
    ...present('password', text('password')),
    ...present('impersonateUser', text('as')),
    ...present('impersonateUid', text('as-uid')),
    ...present('impersonateGroups', groups?.map(String)),
    ...present('impersonateExtra', reader.fields(at, fields, 'as-user-extra')),
    ...present('exec', reader.fields(at, fields, 'exec')),
    ...present('authProvider', reader.fields(at, fields, 'auth-provider')),
  };
}

function readContext(reader: FieldReader, at: string, fields: Fields): KubeConfigContext {
  return {
    cluster: reader.text(at, fields, 'cluster') ?? '',
    user: reader.text(at, fields, 'user') ?? '',
    ...present('namespace', reader.text(at, fields, 'namespace')),
  };
}

/** `exactOptionalPropertyTypes`: a field that is absent is left out, not set to undefined. */
function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
