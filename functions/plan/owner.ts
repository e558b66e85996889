import type { SliceManagers } from '../../core/managers.ts';
import { LABEL_MANAGED_BY } from '../../core/names.ts';
import type { OwnerReference, ServiceRecord, SliceRecord } from '../../core/records.ts';

type Owner = Pick<ServiceRecord, 'name' | 'uid'>;

/**
 * Whether a slice that names the Service is in our hands: by its label, whoever owns it; or as one of a
 * manager that we take over from, if this very Service owns it (B6). What that manager left to an earlier
 * Service of the name is the garbage collector's.
 */
export function isInOurHands(
  slice: SliceRecord,
  service: Owner | null,
  { manager, adopt }: SliceManagers,
): boolean {
  const label = slice.labels[LABEL_MANAGED_BY] ?? '';
  if (label === manager) return true;
  return service !== null && adopt.includes(label) && isOwnedBy(slice, service);
}

/** The owner of every slice: garbage collection removes them with the Service (G3). */
export function ownerOf({ name, uid }: Owner): OwnerReference {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** A slice of an earlier Service of the same name is about to be garbage-collected: hands off (B5). */
export function isOwnedBy({ owners }: SliceRecord, service: Owner): boolean {
  return owners.some((owner) => isReferenceTo(owner, service));
}

/**
 * Whether a slice that the Service owns says so as every slice of ours does. A wrong name lets the
 * garbage collector take the owner for gone; a lost `controller` invites others to adopt the slice.
 * While the Service is being deleted, the garbage collector has the say.
 */
export function statesOwner({ owners }: SliceRecord, service: ServiceRecord): boolean {
  if (service.deleting) return true;
  return owners.some(
    (owner) =>
      isReferenceTo(owner, service) &&
      owner.name === service.name &&
      owner.controller === true &&
      owner.blockOwnerDeletion === true,
  );
}

/** The owners of a slice besides the Service. There can be but one controller, and that is it. */
export function otherOwners({ owners }: SliceRecord, service: Owner): OwnerReference[] {
  return owners.filter((owner) => !owner.controller && owner.uid !== service.uid);
}

function isReferenceTo({ apiVersion, kind, uid }: OwnerReference, service: Owner): boolean {
  return apiVersion === 'v1' && kind === 'Service' && uid === service.uid;
}
