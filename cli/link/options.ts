import { InvalidInputError } from '../../core/errors.ts';
import { isDnsLabel, isDnsSubdomain } from '../../core/object-key.ts';
import type { LoadKubeConfigOptions } from '../../platform/kube/kubeconfig.ts';
import type { CommandInput } from '../command.ts';
import { kubeOptions } from '../roles/clients.ts';

/** Everything that `tether link` was told, checked. */
export interface LinkOptions {
  /** What the linked cluster is called from now on. */
  readonly name: string;
  readonly remote: LoadKubeConfigOptions;
  readonly local: LoadKubeConfigOptions;
  /** Where the Secret goes. */
  readonly namespace: string;
  /** URL that the served cluster reaches the linked one by; undefined: that of its kubeconfig. */
  readonly server: string | undefined;
  readonly trustDomain: string;
  readonly clusterDomain: string;
  /** Where the account lives in the linked cluster. */
  readonly account: { readonly namespace: string; readonly name: string };
  readonly tokenHours: number;
  readonly skipRbac: boolean;
  readonly force: boolean;
  readonly print: boolean;
}

const MOST_TOKEN_HOURS = 87_600;
/** A value of a label: the Secret carries the cluster's name in one. */
const LONGEST_NAME = 63;

/** @throws InvalidInputError, one line, for a flag that is wrong or missing. */
export function linkOptions({ config, flags }: CommandInput): LinkOptions {
  const text = (name: string): string | undefined => {
    const value = flags[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    name: clusterName(text('name')),
    remote: remoteAccess(text('kubeconfig'), text('context'), kubeOptions(config)),
    local: {
      ...kubeOptions(config),
      ...given('path', text('localKubeconfig')),
      ...given('context', text('localContext')),
    },
    namespace: config.namespace,
    server: text('server') === undefined ? undefined : serverUrl(text('server') ?? ''),
    trustDomain: domain('trust-domain', text('trustDomain')),
    clusterDomain: domain('cluster-domain', text('clusterDomain')),
    account: {
      namespace: dnsLabel('remote-namespace', text('remoteNamespace') ?? 'tether'),
      name: dnsLabel('service-account', text('serviceAccount') ?? 'tether-remote'),
    },
    tokenHours: tokenHours(text('tokenHours') ?? '8760'),
    skipRbac: flags['skipRbac'] === true,
    force: flags['force'] === true,
    print: flags['print'] === true,
  };
}

function clusterName(name: string | undefined): string {
  if (name === undefined) {
    throw new InvalidInputError(
      'name',
      '--name is missing: what the linked cluster is to be called',
    );
  }
  if (isDnsSubdomain(name) && name.length <= LONGEST_NAME) return name;
  const wanted = `a name of at most ${LONGEST_NAME} lower-case letters, digits, "-" and "."`;
  throw wrong('name', name, wanted);
}

/** Of the linked cluster: a file of its own, or another context of the usual ones. */
function remoteAccess(
  path: string | undefined,
  context: string | undefined,
  usual: LoadKubeConfigOptions,
): LoadKubeConfigOptions {
  if (path !== undefined) return { path, ...given('context', context), env: {} };
  if (context !== undefined) return { ...usual, context };
  throw new InvalidInputError(
    'kubeconfig',
    '--kubeconfig is missing: the kubeconfig of the cluster to link (or --context, if it is a context ' +
      'of your usual one)',
  );
}

function serverUrl(text: string): string {
  const url = URL.parse(text);
  const plain = url !== null && /^https?:$/.test(url.protocol) && url.username === '';
  if (plain && url.search === '' && url.hash === '') return text.replace(/\/+$/, '');
  throw wrong('server', text, 'a URL such as https://api.east.example:6443');
}

function domain(flag: string, text = 'cluster.local'): string {
  if (isDnsSubdomain(text)) return text;
  throw wrong(flag, text, 'a domain such as cluster.local');
}

function dnsLabel(flag: string, text: string): string {
  if (isDnsLabel(text)) return text;
  throw wrong(flag, text, 'a name of lower-case letters, digits and "-"');
}

function tokenHours(text: string): number {
  const hours = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  if (hours >= 1 && hours <= MOST_TOKEN_HOURS) return hours;
  throw wrong('token-hours', text, `whole hours from 1 to ${MOST_TOKEN_HOURS}`);
}

function wrong(flag: string, text: string, expected: string): InvalidInputError {
  const shown = JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
  return new InvalidInputError(flag, `--${flag} ${shown}: expected ${expected}`);
}

function given<K extends string>(name: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [P in K]?: string });
}
