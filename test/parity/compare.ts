import { LABEL_HEADLESS } from '../../core/names.ts';
import type {
  EndpointPortRecord,
  EndpointRecord,
  Labels,
  SliceRecord,
} from '../../core/records.ts';
import type { PlanInput } from '../../functions/plan/types.ts';
import { exemptions, type Exemptions } from './exemptions.ts';
import { findSplits } from './swaps.ts';
import { ownSlices, type Pass } from './pass.ts';

export interface Verdict {
  /** One sentence each; empty when both sides agree. */
  readonly differences: readonly string[];
  /** Rules of the README's table that this pass made use of. */
  readonly rules: readonly string[];
}

interface Group {
  readonly sizes: readonly number[];
  readonly endpoints: readonly string[];
}

/** Judges one pass: what Tether made of it against what upstream made, less the listed differences. */
export function compare(pass: Pass): Verdict {
  const splits = findSplits(pass);
  const exempt = exemptions(pass, splits);
  const ours = ownSlices(pass.input, pass.after);
  // Upstream keeps a slice without endpoints where there is nothing to publish; Tether deletes it.
  const theirs = pass.upstream.slices
    .filter((slice) => slice.endpoints.length > 0)
    .map(withoutStaleHints);
  const differences = [
    ...(pass.upstream.error === undefined ? [] : [`upstream failed: ${pass.upstream.error}`]),
    ...ours
      .filter((slice) => slice.endpoints.length === 0)
      .map((slice) => `${slice.name} is left without endpoints`),
    ...compareGroups(groupSlices(ours), groupSlices(theirs), exempt),
    ...compareWrites(pass, exempt),
    ...compareLabels(pass.input, ours, theirs),
    ...splits.avoidable.map((id) => `${id} beside a write that could have held its endpoints`),
  ];
  const placeholder = theirs.length < pass.upstream.slices.length ? ['placeholder'] : [];
  return { differences, rules: [...exempt.rules, ...placeholder] };
}

/** Upstream leaves hints on an endpoint that is not ready; nobody reads them. */
function withoutStaleHints(slice: SliceRecord): SliceRecord {
  const endpoints = slice.endpoints.map((endpoint) => {
    const { hints: _hints, ...rest } = endpoint;
    return endpoint.conditions.ready === true ? endpoint : rest;
  });
  return { ...slice, endpoints };
}

function compareGroups(
  ours: ReadonlyMap<string, Group>,
  theirs: ReadonlyMap<string, Group>,
  exempt: Exemptions,
): string[] {
  const none: Group = { sizes: [], endpoints: [] };
  return [...new Set([...ours.keys(), ...theirs.keys()])].sort().flatMap((key) => {
    const own = ours.get(key) ?? none;
    const their = theirs.get(key) ?? none;
    const differences: string[] = [];
    if (exempt.endpoints) {
      differences.push(...surplus(key, 'only ours', own.endpoints, their.endpoints));
      differences.push(...surplus(key, 'only upstream', their.endpoints, own.endpoints));
    }
    if (exempt.sizes && own.sizes.join() !== their.sizes.join()) {
      differences.push(
        `${key}: slices of ${own.sizes.join(', ')}; upstream has ${their.sizes.join(', ')}`,
      );
    }
    return differences;
  });
}

/** What one side has more often than the other; at most three of them. */
function surplus(key: string, label: string, a: readonly string[], b: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const item of b) left.set(item, (left.get(item) ?? 0) + 1);
  const extra = a.filter((item) => {
    const count = left.get(item) ?? 0;
    left.set(item, count - 1);
    return count <= 0;
  });
  return extra.slice(0, 3).map((item) => `${key}: ${label}: ${item}`);
}

function compareWrites(pass: Pass, exempt: Exemptions): string[] {
  const { created, updated, deleted } = pass.upstream;
  const allowed = created + updated + deleted + exempt.extraWrites;
  const count = pass.plan.writes.length;
  const creates = pass.plan.writes.some((write) => write.verb === 'create');
  if (creates && pass.input.service?.deleting === true)
    return ['a Service on its way out got a new slice'];
  if (count <= allowed) return [];
  const verbs = pass.plan.writes.map((write) => write.verb).join(' ');
  return [
    `${count} writes (${verbs}), upstream ${created}+${updated}+${deleted}, extra allowed ${exempt.extraWrites}`,
  ];
}

/**
 * Every slice of ours carries what upstream's carry. Upstream does not write for the headless label's
 * sake alone, so that one is held against the Service instead.
 */
function compareLabels(
  input: PlanInput,
  ours: readonly SliceRecord[],
  theirs: readonly SliceRecord[],
): string[] {
  const headless = ['', 'None'].includes(input.service?.clusterIP ?? '');
  const wrong = ours.filter((slice) => (slice.labels[LABEL_HEADLESS] === '') !== headless);
  const expected = new Set(theirs.map((slice) => textOfLabels(slice.labels)));
  const strange = ours.filter(
    (slice) => expected.size > 0 && !expected.has(textOfLabels(slice.labels)),
  );
  return [
    ...wrong.map((slice) => `${slice.name}: the headless label is wrong`),
    ...strange.map(
      (slice) =>
        `${slice.name}: labels ${textOfLabels(slice.labels)}, upstream ${[...expected].join(' or ')}`,
    ),
  ];
}

function textOfLabels(labels: Labels): string {
  const pairs = Object.entries(labels).filter(([key]) => key !== LABEL_HEADLESS);
  return pairs
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(' ');
}

function groupSlices(slices: readonly SliceRecord[]): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const slice of slices) {
    const key = `${slice.addressType} ${textOfPorts(slice.ports)}`;
    const group = groups.get(key) ?? { sizes: [], endpoints: [] };
    groups.set(key, {
      sizes: [...group.sizes, slice.endpoints.length].sort((a, b) => a - b),
      endpoints: [...group.endpoints, ...slice.endpoints.map(textOfEndpoint)],
    });
  }
  return groups;
}

export function textOfPorts(ports: readonly EndpointPortRecord[]): string {
  const texts = ports.map((p) => `${p.name}:${p.port}/${p.protocol}/${p.appProtocol ?? ''}`);
  return `[${texts.sort().join(' ')}]`;
}

/** All that a reader can tell of an endpoint, in words that do not depend on the order of addresses. */
function textOfEndpoint(endpoint: EndpointRecord): string {
  const { ready, serving, terminating } = endpoint.conditions;
  return [
    [...endpoint.addresses].sort().join(','),
    `ref=${JSON.stringify(endpoint.targetRef ?? null, ['kind', 'namespace', 'name', 'uid'])}`,
    `ready=${ready} serving=${serving} terminating=${terminating}`,
    `hostname=${endpoint.hostname} zone=${endpoint.zone}`,
    `hints=${(endpoint.hints?.forZones ?? []).map((zone) => zone.name).join()}`,
  ].join(' ');
}
