import type { ApiEndpointSlice, ApiExternalWorkload } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { formatKey, parseKey, type ObjectKey } from '../../core/object-key.ts';
import { projectSlice, projectWorkload } from '../../core/project.ts';
import type { ServiceRecord, SliceRecord, WorkloadRecord } from '../../core/records.ts';
import { explainService, type ServiceExplanation } from '../../functions/plan/explain.ts';
import { planSlices } from '../../functions/plan/plan-slices.ts';
import type { PlanOptions } from '../../functions/plan/types.ts';
import type { Config } from '../../platform/config.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { createEndpointApi } from '../../platform/kube/endpoint-api.ts';
import type { CommandInput, Io } from '../command.ts';
import { isKindMissing, kindMissing } from '../failures.ts';
import { withKube } from '../roles/clients.ts';
import { plural, textTable } from '../text-table.ts';

/** What `explain` found, as `-o json` prints it. */
interface Explanation extends ServiceExplanation {
  readonly service: string;
  readonly exists: boolean;
  readonly slices: readonly {
    readonly name: string;
    readonly manager: string;
    readonly ours: boolean;
    readonly addressType: string;
    readonly endpoints: number;
    readonly ready: number;
  }[];
  /** Writes that would make our slices what they should be; 0: they are. */
  readonly writesDue: number;
}

/**
 * `explain NS/SERVICE`: for each workload of the namespace in or out and why, by live reads and the
 * planner's own judgement; and which EndpointSlices the Service has, those of other managers included.
 */
export function run({ config, args, flags }: CommandInput, io: Io): Promise<number> {
  const key = parseKey(args['key'] ?? '');
  return withKube(config, async (client) => {
    const [service, workloads, slices] = await Promise.all([
      createEndpointApi(client).readService(key, io.signal),
      listWorkloads(client, key.namespace, io.signal),
      listSlices(client, key, io.signal),
    ]);
    const explanation = explain(key, service, workloads, slices, config);
    const json = flags['output'] === 'json';
    io.out(json ? JSON.stringify(explanation, null, 2) : describe(explanation, service));
    return explanation.exists ? 0 : 1;
  });
}

function explain(
  key: ObjectKey,
  service: ServiceRecord | null,
  workloads: readonly WorkloadRecord[],
  slices: readonly SliceRecord[],
  config: Config,
): Explanation {
  // Of a configuration the planner takes what it knows.
  const options: PlanOptions = config;
  const managerOf = (slice: SliceRecord): string => slice.labels[LABEL_MANAGED_BY] ?? '';
  const inQuestion = [config.manager, ...config.adopt];
  const { writes } = planSlices({
    key,
    service,
    workloads,
    options,
    slices: slices.filter((slice) => inQuestion.includes(managerOf(slice))),
    takenNames: [],
  });
  return {
    service: formatKey(key),
    exists: service !== null,
    ...explainService(service, workloads, options),
    slices: slices.map((slice) => ({
      name: slice.name,
      manager: managerOf(slice),
      ours: managerOf(slice) === config.manager,
      addressType: slice.addressType,
      endpoints: slice.endpoints.length,
      ready: slice.endpoints.filter(({ conditions }) => conditions.ready !== false).length,
    })),
    writesDue: writes.length,
  };
}

async function listWorkloads(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<WorkloadRecord[]> {
  const path = `/apis/workload.linkerd.io/v1beta1/namespaces/${namespace}/externalworkloads`;
  const what = `list externalworkloads in namespace ${namespace}`;
  try {
    return (await listAll<ApiExternalWorkload>(client, path, { what, signal })).map(
      projectWorkload,
    );
  } catch (error) {
    throw isKindMissing(error) ? kindMissing() : error;
  }
}

async function listSlices(
  client: KubeClient,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<SliceRecord[]> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${key.namespace}/endpointslices`;
  const what = `list endpointslices of service ${formatKey(key)}`;
  const labelSelector = `${LABEL_SERVICE_NAME}=${key.name}`;
  const items = await listAll<ApiEndpointSlice>(client, path, { what, signal, labelSelector });
  return items.map(projectSlice);
}

async function listAll<T>(
  client: KubeClient,
  path: string,
  options: Parameters<KubeClient['list']>[1],
): Promise<T[]> {
  const all: T[] = [];
  for await (const page of client.list<T>(path, options)) {
    if (page.restarted) all.length = 0;
    all.push(...page.items);
  }
  return all;
}

function describe(explanation: Explanation, service: ServiceRecord | null): string {
  const parts = [
    headline(explanation, service),
    workloadsText(explanation),
    slicesText(explanation),
  ];
  return parts.join('\n\n');
}

function headline({ service: key, noSlicesBecause }: Explanation, service: ServiceRecord | null) {
  const selector = Object.entries(service?.selector ?? {}).map(
    ([name, value]) => `${name}=${value}`,
  );
  const facts = service
    ? `${service.clusterIP === 'None' ? 'headless' : service.type}, selector ${selector.join(',') || 'none'}`
    : 'not there';
  const verdict = noSlicesBecause === null ? '' : `\nNo EndpointSlices of ours: ${noSlicesBecause}`;
  return `Service ${key}: ${facts}${verdict}`;
}

function workloadsText({ workloads }: Explanation): string {
  if (workloads.length === 0) return 'No ExternalWorkloads in the namespace.';
  const rows = workloads.map(({ workload, included, ready, summary }) => [
    workload,
    included ? 'in' : 'out',
    included ? (ready ? 'yes' : 'no') : '-',
    // The columns before it say the verdict already.
    summary.replace(/^out: /, ''),
  ]);
  return textTable(['WORKLOAD', 'IN', 'READY', 'WHY'], rows);
}

function slicesText({ slices, writesDue }: Explanation): string {
  const due =
    writesDue === 0
      ? 'The EndpointSlices of ours are as they should be.'
      : `The EndpointSlices of ours are not yet as they should be: ${plural(writesDue, 'write')} due ` +
        '(tether reconcile service … --dry-run shows them).';
  if (slices.length === 0) return `No EndpointSlices.\n${due}`;
  const rows = slices.map((slice) => [
    slice.name,
    slice.ours ? `${slice.manager} (ours)` : slice.manager || '(none)',
    slice.addressType,
    String(slice.endpoints),
    String(slice.ready),
  ]);
  const table = textTable(['ENDPOINTSLICE', 'MANAGER', 'TYPE', 'ENDPOINTS', 'READY'], rows);
  return `${table}\n${due}`;
}
