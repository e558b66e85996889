import type {
  IpFamily,
  Labels,
  Protocol,
  ServicePortRecord,
  ServiceRecord,
  SliceRecord,
  WorkloadRecord,
} from './records.ts';
import { decodeEndpoints, encodeEndpoints, type EncodedEndpoints } from './endpoint-codec.ts';
import { LABEL_SERVICE_NAME } from './names.ts';
import { splitRecord } from './record-lines.ts';

/*
 * How the view stores a record: four lines, `rv`, `uid`, `index` and `body`. The scripts that change
 * the view compare versions, look labels up and see whether anything that reaches a slice changed
 * without decoding the body: equal bodies are equal text, because records are canonical. JSON text
 * never holds a raw line feed, so the first three line feeds are the only separators.
 *
 * A change of this format raises VIEW_SCHEMA: two releases on one Redis then keep apart.
 */
export const VIEW_SCHEMA = 'v1';

export type Kind = 'service' | 'workload' | 'slice';

/** A record on its way into the view. `index`: the selector, the labels, or the Service's name. */
export interface Encoded {
  readonly name: string;
  readonly rv: string;
  readonly uid: string;
  readonly index: string;
  readonly body: string;
}

export function encodeService(record: ServiceRecord): Encoded {
  const { name, rv, uid, selector, ...body } = record;
  return {
    name,
    rv,
    uid,
    index: JSON.stringify(selector),
    body: JSON.stringify({ name, ...body }),
  };
}

export function encodeWorkload(record: WorkloadRecord): Encoded {
  const { name, rv, uid } = record;
  const ports = record.ports.map((port) => [port.name, port.port, port.protocol]);
  const body = JSON.stringify([name, record.ips, ports, record.ready, record.deleting]);
  return { name, rv, uid, index: JSON.stringify(record.labels), body };
}

export function encodeSlice(record: SliceRecord): Encoded {
  const { name, rv, uid, endpoints, ...body } = record;
  const index = record.labels[LABEL_SERVICE_NAME] ?? '';
  const encoded = encodeEndpoints(endpoints);
  return { name, rv, uid, index, body: JSON.stringify({ name, ...body, ...encoded }) };
}

export function decodeService(text: string): ServiceRecord {
  const { rv, uid, index, body } = splitRecord(text);
  const rest = JSON.parse(body) as Omit<ServiceRecord, 'rv' | 'uid' | 'selector'> & {
    readonly ipFamilies: readonly IpFamily[];
    readonly ports: readonly ServicePortRecord[];
  };
  return { ...rest, rv, uid, selector: JSON.parse(index) as Labels };
}

type WorkloadBody = readonly [
  name: string,
  ips: readonly string[],
  ports: readonly (readonly [name: string, port: number, protocol: Protocol])[],
  ready: boolean | null,
  deleting: boolean,
];

export function decodeWorkload(text: string): WorkloadRecord {
  const { rv, uid, index, body } = splitRecord(text);
  const [name, ips, ports, ready, deleting] = JSON.parse(body) as WorkloadBody;
  return {
    name,
    uid,
    rv,
    labels: JSON.parse(index) as Labels,
    ips,
    ports: ports.map(([portName, port, protocol]) => ({ name: portName, port, protocol })),
    ready,
    deleting,
  };
}

type SliceBody = Omit<SliceRecord, 'rv' | 'uid' | 'endpoints'> & EncodedEndpoints;

export function decodeSlice(text: string): SliceRecord {
  const { rv, uid, body } = splitRecord(text);
  const { namespace, endpoints, ...rest } = JSON.parse(body) as SliceBody;
  return { ...rest, rv, uid, endpoints: decodeEndpoints({ namespace, endpoints }) };
}
