import { optional, withDefault } from './option-spec.ts';
import { anyText, hostAndPort, hostList, wholeNumber, yesOrNo } from './parse.ts';

/** Options of linked clusters: what their Secrets may ask for, how they are watched, and look-ups. */
export const LINKED_OPTIONS = {
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
    '64',
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
} as const;
