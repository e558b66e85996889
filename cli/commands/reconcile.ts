import { InvalidInputError } from '../../core/errors.ts';
import type { QueueName } from '../../core/job.ts';
import { formatKey, parseKey, type ObjectKey } from '../../core/object-key.ts';
import type { ReconcileResult } from '../../core/outcome.ts';
import type { ClusterResult } from '../../functions/cluster-worker.ts';
import { dryRunService } from '../../functions/dry-run.ts';
import type { PlannedWrite, SlicePlan } from '../../functions/plan/types.ts';
import type { Config } from '../../platform/config.ts';
import { createEndpointApi } from '../../platform/kube/endpoint-api.ts';
import { NOT_ENDED, type JobReport } from '../../platform/redis/queue/outcomes.ts';
import type { CommandInput, Io } from '../command.ts';
import { withKube, withQueue } from '../roles/clients.ts';

/** How long `--wait` waits, ms. */
const WAIT_MS = 60_000;

/**
 * `tether reconcile service NS/NAME` or `reconcile cluster NS/SECRET`: enqueues one key, first in line.
 * Of a Service the plan can be printed instead.
 */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const key = parseKey(input.args['key'] ?? '');
  const json = input.flags['output'] === 'json';
  if (input.command === 'reconcile cluster') {
    return onDemand('cluster', key, input, io, describeCluster);
  }
  if (input.flags['dryRun']) return dryRun(key, input.config, json, io);
  if (input.flags['read'] === 'view') {
    throw new InvalidInputError('read', 'an on-demand reconcile always reads live');
  }
  return onDemand('service', key, input, io, describeResult);
}

/** Waits for the outcome where `--wait` says so; then the exit code is 1 unless the run was done. */
function onDemand(
  name: QueueName,
  key: ObjectKey,
  { config, flags }: CommandInput,
  io: Io,
  describe: (result: unknown) => string,
): Promise<number> {
  const json = flags['output'] === 'json';
  return withQueue(config, name, async (queue) => {
    const jobId = await queue.addOnDemand(key, 'asked for on the command line');
    if (!flags['wait']) {
      io.out(json ? JSON.stringify({ job: jobId }) : `enqueued ${formatKey(key)} as job ${jobId}`);
      return 0;
    }
    const report = await queue.waitFor(jobId, { timeoutMs: WAIT_MS, signal: io.signal });
    io.out(json ? JSON.stringify(report) : describeReport(key, report, describe));
    return report.kind === 'completed' ? 0 : 1;
  });
}

async function dryRun(key: ObjectKey, config: Config, json: boolean, io: Io): Promise<number> {
  const plan = await withKube(config, (client) =>
    dryRunService(key, { api: createEndpointApi(client), plan: config }, io.signal),
  );
  io.out(json ? JSON.stringify(plan) : describePlan(key, plan));
  return 0;
}

function describeReport(
  key: ObjectKey,
  report: JobReport,
  describe: (result: unknown) => string,
): string {
  const name = formatKey(key);
  switch (report.kind) {
    case 'completed':
      return `${name}: ${describe(report.result)}`;
    case 'failed':
      return `${name}: refused: ${report.reason}`;
    case 'pending': {
      const { reason = NOT_ENDED } = report;
      return `${name}: not done yet after ${WAIT_MS / 1000} s (${reason}); it stays in the queue`;
    }
    case 'unknown':
      return `${name}: its job is not known any more`;
  }
}

function describeResult(result: unknown): string {
  const { created, updated, deleted, ready, endpoints, slices } = result as ReconcileResult;
  const written = created + updated + deleted;
  const did =
    written === 0
      ? 'nothing to write'
      : `${created} created, ${updated} updated, ${deleted} deleted`;
  const where = slices === 1 ? '1 slice' : `${slices} slices`;
  return `${did}; ${ready} of ${endpoints} endpoints ready in ${where}`;
}

function describeCluster(result: unknown): string {
  const { decision, reason } = result as ClusterResult;
  if (decision === null) return `nothing is known of it: ${reason}`;
  const { cluster, verdict, accepted } = decision;
  if (verdict !== 'Accepted') {
    const goesOn =
      accepted === null ? '' : `; what was accepted before goes on (${accepted.server})`;
    return `cluster ${cluster}: ${verdict}: ${reason}${goesOn}`;
  }
  const server = accepted?.server ?? '';
  return `cluster ${cluster}: Accepted: ${server}, watchers take it from here`;
}

function describePlan(key: ObjectKey, plan: SlicePlan): string {
  const lines = plan.writes.map(describeWrite);
  if (plan.noSlicesBecause !== null) lines.unshift(`no slices: ${plan.noSlicesBecause}`);
  for (const left of plan.leftOut) lines.push(`leave out ${left.workload}: ${left.detail}`);
  const writes = plan.writes.length === 1 ? '1 write' : `${plan.writes.length} writes`;
  const changes = plan.writes.length === 0 ? 'nothing to write' : writes;
  lines.push(`${formatKey(key)}: ${changes}; ${plan.unchanged.length} slices are right already`);
  return lines.join('\n');
}

function describeWrite(write: PlannedWrite): string {
  if (write.verb === 'delete') return `delete ${write.previous.name}`;
  const { name, addressType, ports, endpoints } = write.slice;
  const shownPorts = ports.map((port) => `${port.name}:${port.port}/${port.protocol}`).join(', ');
  const addresses = endpoints.map((endpoint) => endpoint.addresses.join('+')).join(' ');
  return `${write.verb} ${name}: ${addressType} [${shownPorts}] ${addresses}`;
}
