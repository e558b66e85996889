import { monotonicMs } from '../clock.ts';
import { sliceBody, slicesPath, type World } from '../world.ts';
import { inParallel } from './parallel.ts';
import { sliceAsProtobuf } from './protobuf.ts';
import type { RawClient } from './raw-client.ts';

/** A share of the direct writes; several agents may take one each. */
export interface DirectWrites {
  readonly encoding: 'json' | 'protobuf';
  /** Writes under way at a time. */
  readonly writers: number;
  /** This agent writes every `of`-th slice, from the `nth` on. */
  readonly nth: number;
  readonly of: number;
}

const TYPES = { json: 'application/json', protobuf: 'application/vnd.kubernetes.protobuf' };

/** Writes the slices that a controller would, and gives when it began and ended (`monotonicMs`). */
export async function writeDirectly(
  client: RawClient,
  world: World,
  share: DirectWrites,
): Promise<{ readonly from: number; readonly to: number }> {
  const services = Array.from({ length: world.services }, (_, at) => at).filter(
    (at) => at % share.of === share.nth,
  );
  const type = TYPES[share.encoding];
  // Encoded beforehand: it is the server's ceiling that is asked for.
  const writes = services.map((service) => ({
    path: slicesPath(world, service),
    body:
      share.encoding === 'json'
        ? JSON.stringify(sliceBody(world, service))
        : sliceAsProtobuf(world, service),
  }));
  const from = monotonicMs();
  await inParallel(writes.length, share.writers, async (at) => {
    const write = writes[at];
    if (write !== undefined) await client.send({ method: 'POST', type, ...write });
  });
  return { from, to: monotonicMs() };
}
