import type { SliceRecord } from '../../core/records.ts';
import type { PlanInput, SlicePlan } from '../../functions/plan/types.ts';

/** The slices as they are once every write of a plan went through, sorted by name. */
export function applyToSlices(input: PlanInput, plan: SlicePlan): readonly SliceRecord[] {
  const byName = new Map(input.slices.map((slice) => [slice.name, slice]));
  for (const write of plan.writes) {
    switch (write.verb) {
      case 'create':
        if (byName.has(write.slice.name)) throw new Error(`${write.slice.name} exists already`);
        byName.set(write.slice.name, {
          ...write.slice,
          uid: `uid-of-${write.slice.name}`,
          rv: '1',
          deleting: false,
          owners: [ownerOf(input)],
        });
        break;
      case 'update':
        if (write.slice.name !== write.previous.name) throw new Error('an update cannot rename');
        if (write.slice.addressType !== write.previous.addressType) {
          throw new Error('addressType is immutable');
        }
        byName.set(write.slice.name, { ...write.previous, ...write.slice });
        break;
      case 'delete':
        byName.delete(write.previous.name);
        break;
    }
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function ownerOf(input: PlanInput): SliceRecord['owners'][number] {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    name: input.key.name,
    uid: input.service?.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}
