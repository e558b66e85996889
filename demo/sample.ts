import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import type { Scene } from './part.ts';

/** Where examples/external-workload goes. */
export const NAMESPACE = 'default';
export const SERVICE = 'nginx-svc';

const OF_SERVICE = ['-l', `kubernetes.io/service-name=${SERVICE}`];
const COLUMNS = [
  'NAME:.metadata.name',
  'ADDRESSES:.endpoints[*].addresses[*]',
  'READY:.endpoints[*].conditions.ready',
  'WORKLOADS:.endpoints[*].targetRef.name',
].join(',');
const SHORT = ['get', 'endpointslices', ...OF_SERVICE, '-o', `custom-columns=${COLUMNS}`];
const TABLE = ['get', 'endpointslices', ...OF_SERVICE];

/** A log line may come a moment after what it tells of; ms. */
const LOG_LAG_MS = 500;

/** Makes a change and shows that the slice follows it, how fast, and who wrote it. */
export async function showFollowing(
  { stage, observer }: Scene,
  wanted: readonly string[],
  change: () => Promise<void>,
): Promise<void> {
  const before = writesOf(stage);
  await change();
  const text = wanted.join(', ') || 'none';
  const ms = await observer.until(text, (endpoints) => endpoints.join(', ') === text);
  const writers = await writersSince(stage, before);
  stage.say.result(`the slice followed ${ms} ms after the workload changed${writers}`);
  stage.say.output(await stage.kubectl(...SHORT));
}

/** The command whose output the steps end with. */
export async function showSliceColumns({ stage }: Scene): Promise<void> {
  await stage.type('kubectl', SHORT);
}

export async function showSliceTable({ stage }: Scene): Promise<void> {
  await stage.type('kubectl', TABLE);
}

/** The parts of the YAML that Tether decides. */
export async function showSliceYaml({ stage }: Scene): Promise<void> {
  const args = [...TABLE, '-o', 'yaml'];
  stage.say.command(`kubectl ${args.join(' ')}   # without what the API server adds`);
  const list = parse(await stage.kubectl(...args)) as { readonly items: readonly SliceYaml[] };
  for (const { metadata, addressType, ports, endpoints } of list.items) {
    const { name, labels, ownerReferences = [] } = metadata;
    const owners = ownerReferences.map((owner) => ({ kind: owner.kind, name: owner.name }));
    const shown = { metadata: { name, labels, ownerReferences: owners } };
    stage.say.output(stringify({ addressType, ...shown, ports, endpoints }, { lineWidth: 0 }));
  }
}

/** How many writes each process has logged. */
export function writesOf(stage: Scene['stage']): ReadonlyMap<string, number> {
  return new Map(stage.running().map((tether) => [tether.name, tether.writes()]));
}

/** `, written by …`: the processes that logged a write since; nothing where none has in time. */
export async function writersSince(
  stage: Scene['stage'],
  before: ReadonlyMap<string, number>,
): Promise<string> {
  const deadline = performance.now() + LOG_LAG_MS;
  for (;;) {
    const writers = stage
      .running()
      .filter(({ name, writes }) => writes() > (before.get(name) ?? 0))
      .map(({ name }) => name);
    if (writers.length > 0) return `, written by ${writers.join(' and ')}`;
    if (performance.now() > deadline) return '';
    await delay(20);
  }
}

interface SliceYaml {
  readonly metadata: {
    readonly name: string;
    readonly labels?: object;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
  readonly addressType: string;
  readonly ports?: unknown;
  readonly endpoints?: unknown;
}
