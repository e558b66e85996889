import { DEFAULT_MANAGER } from '../../core/names.ts';
import { BOARD_OPTIONS } from './board-options.ts';
import { LINKED_OPTIONS } from './linked-options.ts';
import { optional, withDefault } from './option-spec.ts';
import { REDIS_OPTIONS } from './redis-options.ts';
import {
  anyText,
  cidrList,
  hostName,
  labelValue,
  managerList,
  namespaceList,
  namespaceName,
  oneOf,
  seconds,
  wholeNumber,
} from './parse.ts';
import { TRIGGER_OPTIONS } from './trigger-options.ts';

/** Every option there is. docs/operating.md has the same table; a test compares the two. */
export const OPTIONS = {
  ...REDIS_OPTIONS,
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
  adopt: withDefault(
    'adopt',
    '',
    'A,B',
    managerList,
    'managers that have stopped, whose EndpointSlices are taken over in place',
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
  ...LINKED_OPTIONS,
  ...BOARD_OPTIONS,
  ...TRIGGER_OPTIONS,
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
