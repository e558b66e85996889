import { DEFAULT_MANAGER } from '../../core/names.ts';
import {
  anyText,
  cidrList,
  hostAndPort,
  hostList,
  hostName,
  keyPrefix,
  labelValue,
  namespaceList,
  namespaceName,
  oneOf,
  redisUrl,
  seconds,
  wholeNumber,
  yesOrNo,
  type Parser,
} from './parse.ts';

/** One option: a flag, and the TETHER_* variable that does the same. */
export interface OptionSpec<T> {
  /** Without the dashes. */
  readonly flag: string;
  readonly env: string;
  /** What the help calls the value. */
  readonly value: string;
  /** As text, so that it is checked like any other; null: no value unless given. */
  readonly byDefault: string | null;
  readonly parse: Parser<T>;
  readonly help: string;
  /** The value may hold a password: never repeated in a message. */
  readonly secret?: boolean;
}

type WithDefault<T> = OptionSpec<T> & { readonly byDefault: string };
type Optional<T> = OptionSpec<T> & { readonly byDefault: null };

const withDefault = <T>(
  flag: string,
  byDefault: string,
  value: string,
  parse: Parser<T>,
  help: string,
): WithDefault<T> => ({ flag, env: envOf(flag), value, byDefault, parse, help });

const optional = <T>(flag: string, value: string, parse: Parser<T>, help: string): Optional<T> => ({
  flag,
  env: envOf(flag),
  value,
  byDefault: null,
  parse,
  help,
});

function envOf(flag: string): string {
  return `TETHER_${flag.toUpperCase().replaceAll('-', '_')}`;
}

/** Every option there is. docs/operating.md has the same table; a test compares the two. */
export const OPTIONS = {
  redisUrl: {
    ...optional('redis-url', 'URL', redisUrl, 'Redis >= 6.2 or Valkey: redis://… or rediss://…'),
    secret: true,
  },
  redisPrefix: withDefault(
    'redis-prefix',
    'tether',
    'TEXT',
    keyPrefix,
    'keeps apart several installs on one Redis',
  ),
  kubeconfig: optional(
    'kubeconfig',
    'FILE',
    anyText,
    'kubeconfig to use instead of $KUBECONFIG, ~/.kube/config or the pod’s own access',
  ),
  context: optional('context', 'NAME', anyText, 'context of the kubeconfig'),
  requestTimeoutMs: withDefault(
    'request-timeout',
    '10',
    'SECONDS',
    seconds(1, 300),
    'how long a request to the API server may take',
  ),
  namespace: withDefault(
    'namespace',
    'tether',
    'NAME',
    namespaceName,
    'where the Secrets of remote clusters live',
  ),
  includeNamespaces: withDefault(
    'namespaces',
    '',
    'A,B',
    namespaceList,
    'serve these namespaces only (default: all)',
  ),
  excludeNamespaces: withDefault(
    'exclude-namespaces',
    '',
    'A,B',
    namespaceList,
    'serve all but these namespaces',
  ),
  manager: withDefault(
    'manager',
    DEFAULT_MANAGER,
    'NAME',
    labelValue,
    'value of the managed-by label: which EndpointSlices are ours',
  ),
  maxEndpointsPerSlice: withDefault(
    'max-endpoints-per-slice',
    '100',
    'N',
    wholeNumber(1, 1000),
    'endpoints in one EndpointSlice at most, 1 to 1000',
  ),
  workloadsWithoutStatus: withDefault(
    'workloads-without-status',
    'not-ready',
    'ready|not-ready',
    oneOf('ready', 'not-ready'),
    'what a workload without a Ready condition counts as',
  ),
  undeclaredPorts: withDefault(
    'undeclared-ports',
    'refuse',
    'refuse|allow',
    oneOf('refuse', 'allow'),
    'whether a numeric targetPort that the workload does not declare is used',
  ),
  workloadCidrsAllow: withDefault(
    'workload-cidrs-allow',
    '',
    'A/N,B/N',
    cidrList,
    'ranges that addresses of workloads must be in (default: any)',
  ),
  workloadCidrsDeny: withDefault(
    'workload-cidrs-deny',
    '',
    'A/N,B/N',
    cidrList,
    'ranges that no address of a workload may be in, also where the other list allows it',
  ),
  concurrency: withDefault(
    'concurrency',
    '64',
    'N',
    wholeNumber(1, 1000),
    'keys that a worker reconciles at a time',
  ),
  drainMs: withDefault(
    'drain-seconds',
    '10',
    'SECONDS',
    seconds(0, 600),
    'how long a stopping worker may take to end its runs',
  ),
  resyncMs: withDefault(
    'resync-seconds',
    '600',
    'SECONDS',
    seconds(1, 86_400),
    'time from one full comparison with the API server to the next',
  ),
  watchIdleMs: withDefault(
    'watch-idle-seconds',
    '75',
    'SECONDS',
    seconds(1, 3600),
    'a watch without event or bookmark for so long is begun anew',
  ),
  clustersAllowLoopback: withDefault(
    'clusters-allow-loopback',
    'false',
    'true|false',
    yesOrNo,
    'whether a cluster Secret may name a loopback or link-local server',
  ),
  clustersAllowInsecureTls: withDefault(
    'clusters-allow-insecure-tls',
    'false',
    'true|false',
    yesOrNo,
    'whether a cluster Secret may use plain http or skip the check of the server’s certificate',
  ),
  clustersAllowHosts: withDefault(
    'clusters-allow-hosts',
    '',
    'A,*.B',
    hostList,
    'hosts that cluster Secrets may name (default: any)',
  ),
  clustersAllowFqdn: withDefault(
    'clusters-allow-fqdn',
    'false',
    'true|false',
    yesOrNo,
    'whether EndpointSlices of remote clusters may hold host names',
  ),
  clustersMaxObjects: withDefault(
    'clusters-max-objects',
    '200000',
    'N',
    wholeNumber(1, 10_000_000),
    'objects of one remote cluster that are kept at most',
  ),
  clusterOwners: withDefault(
    'cluster-owners',
    '1',
    '1|2',
    wholeNumber(1, 2),
    'watcher processes that watch each remote cluster',
  ),
  clusterConcurrency: withDefault(
    'cluster-concurrency',
    '16',
    'N',
    wholeNumber(1, 1000),
    'cluster Secrets that a worker checks at a time',
  ),
  lookupAddr: withDefault(
    'lookup-addr',
    '127.0.0.1:0',
    'HOST:PORT',
    hostAndPort,
    'where look-ups are answered; port 0: any free one, which is logged; host "*": every address',
  ),
  lookupToken: {
    ...optional('lookup-token', 'TEXT', anyText, 'bearer token that look-ups must bring'),
    secret: true,
  },
  lookupTokenFile: optional(
    'lookup-token-file',
    'FILE',
    anyText,
    'file that holds this token; read again when it changes',
  ),
  logLevel: withDefault(
    'log-level',
    'info',
    'LEVEL',
    oneOf('debug', 'info', 'warn', 'error', 'silent'),
    'least level that is logged: debug, info, warn, error or silent',
  ),
  logFormat: withDefault(
    'log-format',
    'auto',
    'auto|json|pretty',
    oneOf('auto', 'json', 'pretty'),
    'auto: pretty on a terminal, else JSON',
  ),
  httpPort: withDefault(
    'http-port',
    '0',
    'PORT',
    wholeNumber(0, 65_535),
    'port of /healthz, /readyz and /metrics; 0: any free one, which is logged',
  ),
  httpHost: optional(
    'http-host',
    'HOST',
    hostName,
    'address of that port; "*": all (default: 127.0.0.1, in a pod "*")',
  ),
} as const;

export type OptionName = keyof typeof OPTIONS;
