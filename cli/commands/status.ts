import { resolveRedisUrl } from '../../platform/config.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { createLogger } from '../../platform/telemetry/logger.ts';
import type { ClusterDescription } from '../../core/cluster.ts';
import type { CommandInput, Io } from '../command.ts';
import { leftBehindText } from '../left-behind-report.ts';
import { collectStatus, readCluster, type Filters, type StatusReport } from '../status-report.ts';
import { watchReports } from '../status-live.ts';
import { duration, plural, textTable } from '../text-table.ts';

/**
 * `status`: what waits, what is stuck, who watches and works, of which release, and who else writes; exit
 * code 0 whatever it says. With `--watch` again every second, until it is stopped: a page on a terminal,
 * else one report after the other.
 */
export async function run({ config, flags }: CommandInput, io: Io): Promise<number> {
  const watching = flags['watch'] === true;
  // What the connections have to say is in the error or the report, and would spoil a page.
  const level = watching ? 'silent' : 'error';
  const log = await createLogger({ level, format: 'auto', fd: 2, colour: config.colour });
  const redis = connectRedis(resolveRedisUrl(config), 'producer', { log });
  try {
    await checkRedis(redis, { log });
    const json = flags['output'] === 'json';
    if (watching)
      return await watchReports({ config, redis, log, json, describe: describeStatus }, io);
    const ask = (filters: Filters) => readCluster(config, filters, io.signal);
    const report = await collectStatus(config, redis, log, ask);
    io.out(json ? JSON.stringify(report, null, 2) : describeStatus(report));
    return 0;
  } finally {
    redis.disconnect();
  }
}

/** In place of a release that somebody did not tell: one from before releases were told. */
const UNTOLD = '-';

/** The report for people: one paragraph a matter, problems with what to do. */
export function describeStatus(report: StatusReport): string {
  return [
    queuesText(report),
    watchersText(report),
    workersText(report),
    ...waitingText(report),
    clustersText(report),
    stuckText(report),
    refusedText(report),
    othersText(report),
    ...leftBehindText(report.leftBehind),
  ].join('\n\n');
}

function queuesText({ queues }: StatusReport): string {
  const rows = Object.entries(queues).map(([name, counts]) => [
    name,
    String(counts.waiting + counts.prioritized),
    String(counts.active),
    String(counts.delayed),
    counts.oldestWaitingMs > 0 ? duration(counts.oldestWaitingMs) : '-',
    String(counts.failed),
  ]);
  return textTable(['QUEUE', 'WAITING', 'RUNNING', 'BACKING-OFF', 'OLDEST', 'REFUSED'], rows);
}

function watchersText({ watchers }: StatusReport): string {
  if (watchers.length === 0) {
    return 'No watcher is alive: changes are not seen. Start `tether watcher` or `tether up`.';
  }
  const rows = watchers.map(({ id, host, pid, version, states }) => [
    id,
    host,
    String(pid),
    version ?? UNTOLD,
    Object.entries(states)
      .map(([kind, state]) => `${kind}: ${state}`)
      .join(', '),
  ]);
  return textTable(['WATCHER', 'HOST', 'PID', 'RELEASE', 'STATE'], rows);
}

/** By release: there may be too many of them for a line each. */
function workersText({ workers }: StatusReport): string {
  if (workers.length === 0) return 'No worker is alive: keys wait until one is.';
  const byRelease = Object.groupBy(workers, ({ version }) => version ?? UNTOLD);
  const rows = Object.entries(byRelease)
    .map(([release, of = []]) => [String(of.length), release])
    .toSorted(([, a = ''], [, b = '']) => (a < b ? -1 : 1));
  return textTable(['WORKERS', 'RELEASE'], rows);
}

/** Nothing where no worker waits. */
function waitingText({ waitingWorkers }: StatusReport): string[] {
  if (waitingWorkers.length === 0) return [];
  const rows = waitingWorkers.map(({ id, host, pid, awayMs, reason }) => [
    id,
    host,
    String(pid),
    duration(awayMs),
    reason,
  ]);
  const hint = 'They take no keys until the API server answers them; keys wait, and none is lost.';
  return [`${textTable(['WAITING WORKER', 'HOST', 'PID', 'FOR', 'WHY'], rows)}\n${hint}`];
}

function clustersText({ clusters, now }: StatusReport): string {
  if (clusters.length === 0) return 'No linked clusters.';
  const since = (at: number | null): string =>
    at === null ? '-' : duration(Math.max(0, now - at));
  const rows = clusters.map((one) => [
    one.cluster,
    one.state,
    one.server || '-',
    one.serving > 0 ? String(one.objects) : '-',
    since(one.syncedAt),
    since(one.loadedAt),
    expiryText(one.expiresAt, now),
    one.secret,
  ]);
  const header = [
    'CLUSTER',
    'STATE',
    'SERVER',
    'OBJECTS',
    'SYNCED',
    'CONTENT',
    'EXPIRES',
    'SECRET',
  ];
  return [textTable(header, rows), ...clusters.flatMap((one) => problemOf(one, now))].join('\n');
}

function expiryText(expiresAt: number | null, now: number): string {
  if (expiresAt === null) return '-';
  return expiresAt > now ? `in ${duration(expiresAt - now)}` : `${duration(now - expiresAt)} ago`;
}

function problemOf(
  { secret, reason, attempts, nextTryAt }: ClusterDescription,
  now: number,
): string[] {
  if (reason === '') return [];
  const tries = attempts > 0 ? ` (${plural(attempts, 'failed try', 'failed tries')}` : '';
  const next = nextTryAt === null ? '' : `, next in ${duration(Math.max(0, nextTryAt - now))}`;
  return [`${secret}: ${reason}${tries === '' ? '' : `${tries}${next})`}`];
}

function stuckText({ stuck }: StatusReport): string {
  if (stuck.length === 0) return 'No stuck keys.';
  const rows = stuck.map(({ key, failures }) => [key, String(failures)]);
  const hint = 'The worker’s log and `kubectl describe service` say why; they are tried on and on.';
  return `${textTable(['STUCK', 'FAILURES'], rows)}\n${hint}`;
}

function refusedText({ refused }: StatusReport): string {
  if (refused.length === 0) return 'No refused jobs.';
  const rows = refused.map(({ queue, id, data, reason }) => [queue, id, reason, data]);
  return textTable(['QUEUE', 'REFUSED JOB', 'REASON', 'DATA'], rows);
}

function othersText({ otherManagers, otherManagersError }: StatusReport): string {
  if (otherManagers === null) {
    return `Whether others write EndpointSlices too is not known: ${otherManagersError ?? ''}`;
  }
  if (otherManagers.length === 0) return 'Nobody else writes EndpointSlices.';
  const rows = otherManagers.map(({ service, manager, slices }) => [
    service,
    manager || '(none)',
    plural(slices, 'slice'),
  ]);
  const hint = 'Two writers of the same workloads double their endpoints; stop one of them.';
  return `${textTable(['SERVICE', 'OTHER MANAGER', 'WRITES'], rows)}\n${hint}`;
}
