import type { ArgSpec, Command, FlagSpec } from './command.ts';
import {
  BOARD,
  CLUSTERS,
  FILTER,
  HTTP,
  KUBE,
  LOG,
  LOOKUP,
  PLAN,
  REDIS,
  ROLE,
  TRIGGER,
  WATCHER,
  WORKER,
} from './option-groups.ts';

/*
 * Every command, with what its help and its parsing need. The code of a command is imported when it
 * runs: `tether up` must not wait for what only `status` uses.
 */

const key = (shown: string): readonly ArgSpec[] => [{ name: 'key', shown, kind: 'key' }];
const output: FlagSpec = {
  flags: '-o, --output <format>',
  help: 'text or json',
  choices: ['text', 'json'],
};
const wait: FlagSpec = { flags: '--wait', help: 'wait for the outcome and print it' };

const reconcile = () => import('./commands/reconcile.ts');
const workload = () => import('./commands/workload.ts');

export const COMMANDS: readonly Command[] = [
  {
    name: 'up',
    summary:
      'watcher, worker and look-ups in one process; brings a private Redis where none is set',
    args: [],
    flags: [],
    settings: [...ROLE, ...new Set([...WATCHER, ...WORKER]), ...LOOKUP, ...BOARD],
    load: () => import('./commands/up.ts'),
  },
  {
    name: 'watcher',
    summary: 'watches the API server and puts the keys of what changed into the queue',
    args: [],
    flags: [],
    settings: [...ROLE, 'manager', 'adopt', ...WATCHER],
    load: () => import('./commands/watcher.ts'),
  },
  {
    name: 'worker',
    summary: 'takes keys from the queue and writes EndpointSlices',
    args: [],
    flags: [],
    settings: [...ROLE, ...WORKER],
    load: () => import('./commands/worker.ts'),
  },
  {
    name: 'lookup',
    summary: 'answers look-ups of Services in other clusters, or asks for one',
    args: [
      { name: 'cluster', shown: 'CLUSTER', kind: 'text', optional: true },
      { name: 'key', shown: 'NS/SERVICE', kind: 'text', optional: true },
    ],
    flags: [
      { flags: '--port <port>', help: 'only endpoints with this port, by name or number' },
      { flags: '--watch', help: 'go on, and print what changes' },
      output,
    ],
    settings: [...REDIS, ...HTTP, ...LOG, ...LOOKUP],
    load: () => import('./commands/lookup.ts'),
  },
  {
    name: 'board',
    summary: 'shows the jobs of the queues in a browser',
    args: [],
    flags: [],
    settings: [...REDIS, ...HTTP, ...LOG, ...BOARD],
    load: () => import('./commands/board.ts'),
  },
  {
    name: 'function',
    summary: 'reconciles on request over HTTP, one key a request, without a queue',
    args: [],
    flags: [],
    settings: [
      ...ROLE,
      ...PLAN,
      ...CLUSTERS,
      ...TRIGGER,
      'functionAddr',
      'functionDeadlineMs',
      'concurrency',
      'drainMs',
    ],
    load: () => import('./commands/function.ts'),
  },
  {
    name: 'reconcile service',
    summary: 'puts one Service into the queue, first in line',
    args: key('NS/NAME'),
    flags: [
      wait,
      { flags: '--dry-run', help: 'print the plan and write nothing' },
      {
        flags: '--read <from>',
        help: 'live: read from the API server instead of the view',
        choices: ['view', 'live'],
      },
      output,
    ],
    settings: [...REDIS, ...KUBE, ...PLAN, ...LOG],
    load: reconcile,
  },
  {
    name: 'reconcile cluster',
    summary: 'has one cluster Secret looked at and its cluster asked, first in line',
    args: key('NS/NAME'),
    flags: [wait, output],
    settings: [...REDIS, ...LOG],
    load: reconcile,
  },
  {
    name: 'resync',
    summary: 'puts every Service into the queue, last in line',
    args: [],
    flags: [],
    settings: [...REDIS, ...KUBE, ...FILTER, ...LOG],
    load: () => import('./commands/resync.ts'),
  },
  {
    name: 'status',
    summary:
      'queue, stuck keys, watchers, workers, linked clusters, and who else writes EndpointSlices',
    args: [],
    flags: [{ flags: '-w, --watch', help: 'look again every second, until q or Ctrl-C' }, output],
    settings: [...REDIS, ...KUBE, 'manager'],
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'explain',
    summary: 'for each workload of a Service’s namespace: in or out, and why',
    args: key('NS/SERVICE'),
    flags: [output],
    settings: [...KUBE, ...PLAN],
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'workload ready',
    summary: 'says that a workload takes traffic',
    args: key('NS/NAME'),
    flags: [],
    settings: KUBE,
    load: workload,
  },
  {
    name: 'workload unready',
    summary: 'says that a workload takes no traffic',
    args: key('NS/NAME'),
    flags: [],
    settings: KUBE,
    load: workload,
  },
  {
    name: 'workload drain',
    summary: 'says that a workload takes no traffic, and waits until no EndpointSlice offers it',
    args: key('NS/NAME'),
    flags: [{ flags: '--timeout <seconds>', help: 'how long to wait; default 60' }],
    settings: KUBE,
    load: workload,
  },
  {
    name: 'link',
    summary: 'lets this cluster look into another one; run again, it replaces the credential',
    args: [],
    flags: [
      { flags: '--name <name>', help: 'what the other cluster is called from now on' },
      {
        flags: '--kubeconfig <file>',
        help: 'kubeconfig of the OTHER cluster, with rights to apply',
      },
      { flags: '--context <name>', help: 'its context; without --kubeconfig: of your usual one' },
      {
        flags: '--local-kubeconfig <file>',
        help: 'kubeconfig of this cluster; default as elsewhere',
      },
      { flags: '--local-context <name>', help: 'context of this cluster' },
      { flags: '--server <url>', help: 'address to reach it by; default that of its kubeconfig' },
      { flags: '--trust-domain <name>', help: 'its trust domain; default cluster.local' },
      { flags: '--cluster-domain <name>', help: 'its cluster domain; default cluster.local' },
      { flags: '--token-hours <hours>', help: 'validity to ask for; default 8760, a year' },
      { flags: '--remote-namespace <name>', help: 'where its account is; default tether' },
      { flags: '--service-account <name>', help: 'its account; default tether-remote' },
      { flags: '--skip-rbac', help: 'account and rights are there already' },
      { flags: '--print', help: 'print the Secret, credential and all, and apply nothing here' },
      { flags: '--force', help: 'overrule others who changed what this applies' },
    ],
    settings: ['requestTimeoutMs', ...CLUSTERS],
    load: () => import('./commands/link.ts'),
  },
  {
    name: 'install',
    summary: 'applies the CustomResourceDefinition of ExternalWorkload',
    args: [],
    flags: [{ flags: '--force', help: 'also where somebody else installed it' }],
    settings: KUBE,
    load: () => import('./commands/install.ts'),
  },
  {
    name: 'uninstall',
    summary: 'says what Tether wrote into the cluster and into Redis; with --purge it removes that',
    args: [],
    flags: [
      { flags: '--purge', help: 'remove it' },
      { flags: '--namespace <name>', help: 'of this namespace only; default all' },
      { flags: '--force', help: 'also while watchers or workers run, or without Redis' },
    ],
    settings: [...REDIS, ...KUBE, 'manager'],
    load: () => import('./commands/uninstall.ts'),
  },
];
