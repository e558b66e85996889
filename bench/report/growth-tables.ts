import { CHURN, type CpuShares, type GrowthResult } from '../scenarios/growth.ts';
import { format, table, wrap } from './markdown.ts';

/** Two tables for each group of cases, as Markdown: what is held, and what work costs. */
export function renderGrowth(machine: string, results: readonly GrowthResult[]): string {
  const groups = [...new Set(results.map(({ group }) => group))];
  const tables = groups.map((group) => {
    const rows = results.filter((result) => result.group === group);
    const tableOf = (columns: readonly TableColumn[]): string =>
      table([
        columns.map(([head]) => head),
        ...rows.map((row) => columns.map(([, cell]) => cell(row))),
      ]);
    const shape = group === CHURN ? [...SHAPE, FLIPS] : SHAPE;
    return `### By ${group}\n\n${tableOf([...shape, ...HELD])}\n\n${tableOf([...shape, ...WORK])}`;
  });
  return [machine, wrap(LEGEND), ...tables].join('\n\n');
}

const LEGEND =
  'One run each. CPU is milliseconds of watcher / worker / Redis, all processes of a role together; ' +
  'memory is that of the largest process of a role once all is right, in brackets what Redis itself ' +
  'counts as used. A resync and a flip include what goes on in the background meanwhile.';

type TableColumn = readonly [head: string, cell: (result: GrowthResult) => string];

const SHAPE: readonly TableColumn[] = [
  ['Services × workloads', ({ services, per }) => `${format(services, 0)} × ${format(per, 0)}`],
  ['namespaces', ({ namespaces }) => format(namespaces, 0)],
  ['watchers + workers', ({ watchers, workers }) => `${watchers} + ${workers}`],
];

const FLIPS: TableColumn = ['flips a second', ({ perSecond }) => format(perSecond, 0)];

const HELD: readonly TableColumn[] = [
  ['load, s', ({ loadSeconds }) => format(loadSeconds, 1)],
  ['lists, MiB', ({ listMiB }) => format(listMiB, 1)],
  ['all right after, s', ({ convergeSeconds }) => format(convergeSeconds, 2)],
  ['watcher, MiB', ({ watcherMiB }) => format(watcherMiB, 0)],
  ['worker, MiB', ({ workerMiB }) => format(workerMiB, 0)],
  [
    'Redis, MiB',
    ({ redisMiB, redisUsedMiB }) => `${format(redisMiB, 0)} (${format(redisUsedMiB, 0)})`,
  ],
];

const WORK: readonly TableColumn[] = [
  ['idle, CPU ms a second', ({ idle }) => shares(idle, 1)],
  ['resync, s', ({ resyncSeconds }) => format(resyncSeconds, 2)],
  ['resync, CPU ms', ({ resync }) => shares(resync, 0)],
  ['resync, API requests', ({ resyncRequests }) => format(resyncRequests, 0)],
  ['a flip, CPU ms', ({ flip }) => shares(flip, 1)],
  ['a flip, Redis commands', ({ flipCommands }) => format(flipCommands, 0)],
  ['a flip, p50 / p99 ms', ({ p50, p99 }) => `${format(p50, 1)} / ${format(p99, 1)}`],
];

function shares({ watcher, worker, redis }: CpuShares, digits: number): string {
  return [watcher, worker, redis].map((it) => format(it, digits)).join(' / ');
}
