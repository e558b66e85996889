import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { addressOf, backingName, namespaceName, serviceName, type World } from '../world.ts';

/*
 * The one object that the ceiling is measured with, in the encoding that Kubernetes' own controllers
 * write: k8s.io/api/discovery/v1/generated.proto has the numbers of the fields.
 */

const LENGTH_DELIMITED = 2;
/** Marks protobuf in requests: `k8s` and a zero byte, then a runtime.Unknown. */
const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
const PORT = 8080;

/** The slice of `sliceBody`, as protobuf. */
export function sliceAsProtobuf(world: World, service: number): Buffer {
  const namespace = namespaceName(world, service);
  const label = (key: string, value: string): Buffer => message(11, [text(1, key), text(2, value)]);
  const metadata = message(1, [
    text(1, `ceiling-${serviceName(service)}`),
    label(LABEL_SERVICE_NAME, serviceName(service)),
    label(LABEL_MANAGED_BY, 'bench'),
  ]);
  const endpoints = Array.from({ length: world.per }, (_, nth) =>
    message(2, [
      text(1, addressOf(world, service, nth)),
      message(2, [number(1, 1), number(2, 1), number(3, 0)]),
      message(4, [
        text(1, 'ExternalWorkload'),
        text(2, namespace),
        text(3, backingName(service, nth)),
      ]),
    ]),
  );
  const port = message(3, [text(1, 'http'), text(2, 'TCP'), number(3, PORT)]);
  const slice = Buffer.concat([metadata, ...endpoints, port, text(4, 'IPv4')]);
  const typeMeta = message(1, [text(1, 'discovery.k8s.io/v1'), text(2, 'EndpointSlice')]);
  return Buffer.concat([MAGIC, typeMeta, bytes(2, slice)]);
}

function message(field: number, parts: readonly Buffer[]): Buffer {
  return bytes(field, Buffer.concat(parts));
}

function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value));
}

function bytes(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | LENGTH_DELIMITED), varint(value.length), value]);
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

function varint(value: number): Buffer {
  const out: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    out.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...out, rest]);
}
