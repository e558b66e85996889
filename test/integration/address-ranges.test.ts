import { expect, test } from '@jest/globals';
import { createService, createWorkload } from '../support/objects.ts';
import { runTether } from '../support/processes.ts';
import { upRig } from '../support/up-rig.ts';
import { warned } from '../support/warnings.ts';

/** Whoever runs Tether says where workloads may be, whoever writes them. */
const RANGES = ['--workload-cidrs-allow', '10.0.0.0/8', '--workload-cidrs-deny', '10.96.0.0/12'];
const rig = upRig('ranges', ['--log-format', 'json', ...RANGES]);

test('an address of the Services is no endpoint, and neither is one that is not allowed (report 114)', async () => {
  await createService(rig.ns, 'web');
  await createWorkload(rig.ns, 'good', 'web', { ips: ['10.20.0.1'] });
  await createWorkload(rig.ns, 'service', 'web', { ips: ['10.96.0.1'] });
  await createWorkload(rig.ns, 'elsewhere', 'web', { ips: ['192.0.2.1'] });
  await rig.endpointsBecome('web', ['10.20.0.1 8080 ready']);
  await warned(rig.ns, 'service', 'AddressRefused', '"10.96.0.1" is in 10.96.0.0/12');
  await warned(rig.ns, 'elsewhere', 'AddressRefused', 'no range of --workload-cidrs-allow');
  const { stdout } = await runTether(['explain', `${rig.ns}/web`, ...RANGES]);
  expect(stdout).toMatch(/^service +out +- .*"10\.96\.0\.1" is in 10\.96\.0\.0\/12/m);
  expect(stdout).toContain('The EndpointSlices of ours are as they should be.');
});
