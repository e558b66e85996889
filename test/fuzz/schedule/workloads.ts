import type { Random } from '../../parity/random.ts';
import {
  APPS,
  isCalm,
  pickWeighted,
  TIERS,
  withoutNulls,
  type Model,
  type WorkloadModel,
} from './model.ts';
import type { Action } from './steps.ts';

const NUMBERS = [8080, 9090, 7070];
const FINALIZER = 'fuzz.example.com/hold';
/** What the API server would refuse in a slice: each is left out alone. */
const REFUSED = [
  '127.0.0.1',
  '169.254.7.7',
  '224.0.0.9',
  '0.0.0.0',
  '198.18.0.010',
  'not-an-address',
  '::1',
  'fe80::1',
  'ff02::1',
  '::ffff:198.18.0.1',
];

type Maker = (model: Model, workload: WorkloadModel) => Action;

const CALM: readonly (readonly [number, Maker])[] = [
  [6, (model, workload) => patch(workload, { spec: { ports: ports(model.random) } })],
  [2, (model, workload) => patch(workload, { metadata: { labels: zone(model.random) } })],
  [1, (model, workload) => patch(workload, { metadata: { labels: note(model.random) } })],
];

const WILD: readonly (readonly [number, Maker])[] = [
  ...CALM,
  [8, sayReady],
  [6, (model, workload) => patch(workload, { metadata: { labels: membership(model.random) } })],
  [5, changeAddresses],
  [7, remove],
];

/** What happens next to a workload. */
export function nextOfWorkload(model: Model, workload: WorkloadModel): Action[] {
  const { random } = model;
  if (workload.leaving) return [letGo(workload)];
  if (!workload.exists) return [bringIn(model, workload)];
  if (isCalm(model, workload)) return [pickWeighted(random, CALM)(model, workload)];
  const action = pickWeighted(random, WILD)(model, workload);
  const gone = action.do === 'delete workload' && !workload.leaving;
  return gone && random.chance(0.5) ? [action, bringIn(model, workload)] : [action];
}

/** Creates it: `calm` ones are ready and have a good address of their own. */
export function bringIn(model: Model, workload: WorkloadModel): Action {
  const { random } = model;
  const { target } = workload;
  workload.exists = true;
  workload.held = random.chance(0.15);
  const body = {
    apiVersion: 'workload.linkerd.io/v1beta1',
    kind: 'ExternalWorkload',
    metadata: {
      name: target.name,
      labels: withoutNulls({ ...membership(random), ...zone(random) }),
      ...(workload.held ? { finalizers: [FINALIZER] } : {}),
    },
    spec: { workloadIPs: addresses(model, workload), ports: ports(random) },
  };
  const ready = random.pick([true, true, true, true, true, true, false, null]);
  return { do: 'create workload', target, body, ready };
}

function remove(_model: Model, workload: WorkloadModel): Action {
  workload.exists = false;
  workload.leaving = workload.held;
  return { do: 'delete workload', target: workload.target };
}

function letGo(workload: WorkloadModel): Action {
  workload.leaving = false;
  return patch(workload, { metadata: { finalizers: null } });
}

function sayReady({ random }: Model, { target }: WorkloadModel): Action {
  return { do: 'say ready', target, ready: random.chance(0.6) };
}

function changeAddresses(model: Model, workload: WorkloadModel): Action {
  return patch(workload, { spec: { workloadIPs: addresses(model, workload) } });
}

function patch({ target }: WorkloadModel, body: object): Action {
  return { do: 'patch workload', target, body };
}

function membership(random: Random): object {
  return { app: random.pick(APPS), tier: random.pick(TIERS) };
}

function zone(random: Random): object {
  return { 'topology.kubernetes.io/zone': random.pick(['zone-a', 'zone-b', null]) };
}

function note(random: Random): object {
  return { note: `n${random.int(0, 99)}` };
}

/** At most two, as the definition says; the second one may be of no use, or somebody else's. */
function addresses({ random, workloads }: Model, { number }: WorkloadModel): object[] {
  const v4 = (of: number): string => `198.18.0.${of}`;
  // Not as it is printed in the end, on purpose.
  const v6 = (of: number): string => `2001:0DB8:0:0::${of.toString(16)}`;
  const ips = pickWeighted<string[]>(random, [
    [8, [v4(number)]],
    [5, [v4(number), v6(number)]],
    [2, [v6(number)]],
    [1, [v4(number), v4(number + 100)]],
    [1, [v4(number), v4(number)]],
    [2, [v4(number), random.pick(REFUSED)]],
    [1, [random.pick(REFUSED)]],
    [1, [v4(random.int(1, workloads.length))]],
  ]);
  return ips.map((ip) => ({ ip }));
}

/** Always one called `http`, so that a calm Service keeps it whatever its number becomes. */
function ports(random: Random): object[] {
  const http = { name: 'http', port: random.pick(NUMBERS), protocol: 'TCP' };
  const metrics = { name: 'metrics', port: 9100, protocol: 'TCP' };
  const dns = { name: 'dns', port: 53, protocol: 'UDP' };
  return [http, ...random.some([metrics, dns], 0.7)];
}
