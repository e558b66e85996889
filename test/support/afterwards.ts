import { createService, createWorkload } from './objects.ts';
import type { UpRig } from './up-rig.ts';

/**
 * Resolves once whatever happened before has been seen and worked off: a change that is made after
 * it has led to a slice, of a Service that is made for it.
 */
export async function afterwards(rig: UpRig, name = 'afterwards'): Promise<void> {
  await createService(rig.ns, name);
  await createWorkload(rig.ns, name, name, { ips: ['192.0.2.250'] });
  await rig.endpointsBecome(name, ['192.0.2.250 8080 ready']);
}
