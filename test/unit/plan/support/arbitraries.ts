import fc from 'fast-check';
import { LABEL_ZONE } from '../../../../core/names.ts';
import type {
  IpFamily,
  ServiceRecord,
  SliceRecord,
  WorkloadRecord,
} from '../../../../core/records.ts';
import { planSlices } from '../../../../functions/plan/plan-slices.ts';
import type { PlanInput } from '../../../../functions/plan/types.ts';
import { applyPlan } from './apply-plan.ts';
import { anEndpoint, anInput, aPort, aService, aSlice, aWorkload, OWNER } from './builders.ts';

/** `FC_SEED` repeats a failure that fast-check printed, `FC_RUNS` says how many cases to try. */
export const FC_PARAMETERS = {
  numRuns: Number(process.env['FC_RUNS'] ?? 200),
  ...(process.env['FC_SEED'] && { seed: Number(process.env['FC_SEED']) }),
};

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'vm.h', 'i'];
const PORTS = [8080, 9090];
const IPS = [
  '10.0.0.1',
  '10.0.0.2',
  'FD00::A',
  'fd00::b',
  '127.0.0.1',
  '::ffff:1.2.3.4',
  'nonsense',
];

const often = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, fc.constantFrom(usual, ...others));

const serviceArb: fc.Arbitrary<ServiceRecord> = fc
  .record({
    clusterIP: often('10.96.0.10', 'None', '', 'fd00:96::1'),
    ipFamilies: often<IpFamily[]>(['IPv4'], ['IPv6', 'IPv4'], ['IPv6'], []),
    ports: often(
      [aPort()],
      [aPort(), aPort({ name: 'b', targetPort: 9090 })],
      [],
      [aPort({ name: '' })],
    ),
    labels: often({}, { team: 'blue' }),
    publishNotReady: often(false, true),
    zoneHints: fc.boolean(),
    type: often('ClusterIP', 'ExternalName'),
  })
  .map((parts) => aService(parts));

const workloadArb = fc.record({
  name: fc.constantFrom(...NAMES),
  ips: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(['10.0.0.1'], ['10.0.0.2'], ['10.0.0.1', 'fd00::b']) },
    fc.array(fc.constantFrom(...IPS), { maxLength: 3 }),
  ),
  port: fc.constantFrom(...PORTS),
  ready: fc.constantFrom(true, true, false, null),
  deleting: often(false, true),
  zone: fc.constantFrom('', 'z1', 'z2'),
  app: often('web', 'other'),
});

function toWorkload(
  parts: typeof workloadArb extends fc.Arbitrary<infer T> ? T : never,
): WorkloadRecord {
  const { name, ips, port, ready, deleting, zone, app } = parts;
  const ports = [
    { name: 'http', port, protocol: 'TCP' as const },
    { name: 'admin', port: 9090, protocol: 'TCP' as const },
  ];
  const labels = zone === '' ? { app } : { app, [LABEL_ZONE]: zone };
  return aWorkload(name, { ips, ports, ready, deleting, labels });
}

export const workloadsArb: fc.Arbitrary<WorkloadRecord[]> = fc
  .uniqueArray(workloadArb, { selector: ({ name }) => name, maxLength: NAMES.length })
  .map((parts) => parts.map(toWorkload));

/** Slices as other times, other owners and other people may have left them. */
const slicesArb: fc.Arbitrary<SliceRecord[]> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom('s1', 's2', 's3', 's4'),
      members: fc.array(workloadArb, { maxLength: 4 }),
      port: fc.constantFrom(...PORTS),
      addressType: often('IPv4', 'IPv6', 'FQDN', 'IP'),
      owners: often([OWNER], [{ ...OWNER, uid: 'older' }]),
      labels: often({}, { stale: 'x' }),
      deleting: often(false, true),
    }),
    { selector: ({ name }) => name, maxLength: 4 },
  )
  .map((all) =>
    all.map(({ name, members, port, labels, addressType, ...parts }) =>
      aSlice(name, {
        ...parts,
        addressType,
        labels: { ...aSlice(name).labels, ...labels },
        ports: [{ name: 'http', port, protocol: 'TCP' }],
        endpoints: members.map((member) =>
          anEndpoint({
            ...toWorkload(member),
            ips: addressType === 'IPv6' ? ['fd00::b'] : ['10.0.0.1'],
          }),
        ),
      }),
    ),
  );

/** A world that anybody may have tampered with. */
const anyInputArb: fc.Arbitrary<PlanInput> = fc
  .record({
    service: fc.oneof({ weight: 30, arbitrary: serviceArb }, fc.constant(null)),
    workloads: workloadsArb,
    slices: slicesArb,
    takenNames: fc.constantFrom([], ['s9']),
    options: fc.record({
      maxEndpointsPerSlice: fc.constantFrom(1, 2, 3, 100),
      undeclaredPorts: often<'refuse' | 'allow'>('refuse', 'allow'),
      workloadsWithoutStatus: often<'ready' | 'not-ready'>('not-ready', 'ready'),
    }),
  })
  .map((parts) => anInput(parts));

/** A world that the planner itself left behind, in which some workloads have changed since. */
const settledInputArb: fc.Arbitrary<PlanInput> = fc
  .record({
    input: anyInputArb,
    changes: workloadsArb,
    share: fc.constantFrom(0, 1, 2, 3, 9),
    relabel: often({}, { team: 'red' }),
    max: fc.constantFrom(0, 0, 0, 2, 3),
  })
  .map(({ input, changes, share, relabel, max }) => {
    const { service } = input;
    const before = { ...input, slices: input.slices.slice(0, 1) };
    const { maxEndpointsPerSlice } = input.options;
    const slices = applyPlan(before.slices, planSlices(before), {
      service,
      max: maxEndpointsPerSlice,
    });
    const some = changes.slice(0, share);
    const kept = input.workloads.filter(({ name }) => some.every((other) => other.name !== name));
    return {
      ...input,
      service: service && { ...service, labels: { ...service.labels, ...relabel } },
      workloads: [...some, ...kept],
      slices,
      options: { ...input.options, maxEndpointsPerSlice: max || maxEndpointsPerSlice },
    };
  });

export const inputArb: fc.Arbitrary<PlanInput> = fc.oneof(anyInputArb, settledInputArb);
