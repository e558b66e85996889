import { tailOf } from '../../lookup/answers.ts';
import type { Difference } from '../../lookup/diff.ts';
import type { Endpoint } from '../../lookup/endpoint-set.ts';
import type { Known } from '../../lookup/known.ts';
import { duration, plural, textTable } from '../text-table.ts';

type Body = Readonly<Record<string, unknown>>;

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** An answer about one Service, for people. */
export function describeEndpoints(body: Body, endpoints: readonly Endpoint[]): string {
  const count = endpoints.length === 0 ? 'no endpoints' : plural(endpoints.length, 'endpoint');
  const headline = `Service ${textOf(body['namespace'])}/${textOf(body['service'])}: ${count}; ${quality(body)}`;
  return [headline, ...membersOf(body), ...tableOf(endpoints)].join('\n');
}

/** `cluster east: Ready, in sync 400 ms ago`. */
function quality(body: Body): string {
  const where =
    body['cluster'] === undefined ? textOf(body['kind']) : `cluster ${textOf(body['cluster'])}`;
  const age = typeof body['ageMs'] === 'number' ? `, in sync ${duration(body['ageMs'])} ago` : '';
  const reason = body['reason'] === undefined ? '' : ` (${textOf(body['reason'])})`;
  const partly = body['complete'] === false ? ', not every member is known' : '';
  return `${where}: ${textOf(body['state'])}${age}${partly}${reason}`;
}

function membersOf(body: Body): string[] {
  if (!Array.isArray(body['members'])) return [];
  return (body['members'] as Body[]).map((member) => {
    if (member['code'] === 'Malformed') {
      return `  ${textOf(member['member'])}: left out: ${textOf(member['error'])}`;
    }
    const name = `${textOf(member['namespace'])}/${textOf(member['service'])}`;
    const found =
      typeof member['endpoints'] === 'number'
        ? `${member['endpoints']} endpoints; ${quality(member)}`
        : `cluster ${textOf(member['cluster'])}: ${textOf(member['error'])}`;
    return `  ${name}: ${found}`;
  });
}

function tableOf(endpoints: readonly Endpoint[]): string[] {
  if (endpoints.length === 0) return [];
  const rows = endpoints.map((one) => [
    one.address,
    portsOf(one),
    one.cluster,
    stateOf(one),
    one.zone ?? '-',
    one.targetRef === undefined ? '-' : `${one.targetRef.kind}/${one.targetRef.name}`,
    one.identity ?? '-',
  ]);
  const header = ['ADDRESS', 'PORTS', 'CLUSTER', 'STATE', 'ZONE', 'TARGET', 'IDENTITY'];
  return ['', textTable(header, rows)];
}

function portsOf({ ports }: Endpoint): string {
  const texts = Object.entries(ports).map(([name, { port }]) =>
    name === '' ? `${port ?? '*'}` : `${name}:${port ?? '*'}`,
  );
  return texts.join(',') || '-';
}

function stateOf({ ready, serving, terminating }: Endpoint): string {
  if (ready) return 'ready';
  if (terminating) return serving ? 'terminating, serving' : 'terminating';
  return serving ? 'serving' : 'not ready';
}

/** An answer about all Services of a cluster, for people. */
export function describeServices(body: Body): string {
  const services = body['services'] as readonly { namespace: string; name: string }[];
  const names = services.map(({ namespace, name }) => `  ${namespace}/${name}`);
  const count = names.length === 0 ? 'no Services' : plural(names.length, 'Service');
  return [`${quality(body)}: ${count}`, ...names].join('\n');
}

interface Step {
  readonly known: Known;
  /** Nothing was shown of the set so far. */
  readonly first: boolean;
  readonly change: Difference | null;
  readonly now: number;
  readonly json: boolean;
}

/** One step of `--watch`: a line of JSON, or lines for people. */
export function describeChange({ known, first, change, now, json }: Step): string {
  const head = known.status?.head(now) ?? '{';
  if (known.kind !== 'set') return json ? eventText('state', `${head}}`) : known.refusal.error;
  if (first) {
    const text = head + tailOf(known.set).bytes.toString();
    if (json) return eventText('full', text);
    const endpoints = Array.from(known.set.items.values(), ({ endpoint }) => endpoint);
    return describeEndpoints(JSON.parse(text) as Body, endpoints);
  }
  const body = JSON.parse(`${head}}`) as Body;
  if (change === null) return json ? eventText('state', `${head}}`) : `= ${quality(body)}`;
  const add = change.add.map(({ endpoint }) => endpoint);
  const { remove } = change;
  const { version } = known.set;
  if (json) return JSON.stringify({ event: 'change', ...body, version, add, remove });
  const added = add.map((one) => `+ ${one.id} ${one.address} ${portsOf(one)} ${stateOf(one)}`);
  return [...remove.map((id) => `- ${id}`), ...added].join('\n');
}

function eventText(event: string, body: string): string {
  return JSON.stringify({ event, ...(JSON.parse(body) as Body) });
}
