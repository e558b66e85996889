import { ANNOTATION_TRIGGER_TIME } from '../core/names.ts';
import type { ObjectKey } from '../core/object-key.ts';
import type { ServiceRecord } from '../core/records.ts';
import { otherOwners, ownerOf } from './plan/owner.ts';
import type { DesiredSlice, PlannedWrite } from './plan/types.ts';

/**
 * The `discovery.k8s.io/v1` EndpointSlice that a create or an update sends. An update carries the
 * resourceVersion that was read, and whatever others put on the slice that is not ours to judge:
 * annotations, finalizers, further owners.
 */
export function sliceBody(
  key: ObjectKey,
  service: Pick<ServiceRecord, 'name' | 'uid'>,
  write: Exclude<PlannedWrite, { verb: 'delete' }>,
  triggerTime: string,
): object {
  const owner = ownerOf(service);
  const metadata: Record<string, unknown> = {
    namespace: key.namespace,
    name: write.slice.name,
    labels: write.slice.labels,
    annotations: { [ANNOTATION_TRIGGER_TIME]: triggerTime },
    ownerReferences: [owner],
  };
  if (write.verb === 'update') {
    const { previous } = write;
    metadata['resourceVersion'] = previous.rv;
    metadata['uid'] = previous.uid;
    metadata['annotations'] = { ...previous.annotations, [ANNOTATION_TRIGGER_TIME]: triggerTime };
    metadata['ownerReferences'] = [owner, ...otherOwners(previous, service)];
    if (previous.finalizers) metadata['finalizers'] = previous.finalizers;
  }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata,
    ...bodyOf(write.slice),
  };
}

function bodyOf(slice: DesiredSlice): object {
  return { addressType: slice.addressType, ports: slice.ports, endpoints: slice.endpoints };
}
