import type { Random } from '../../parity/random.ts';
import {
  APPS,
  isCalm,
  pickWeighted,
  TIERS,
  withoutNulls,
  type Model,
  type ServiceModel,
} from './model.ts';
import type { Action, Damage } from './steps.ts';

const HTTP = { name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' };
const METRICS = { name: 'metrics', port: 9100, targetPort: 'metrics', protocol: 'TCP' };

/** Ports that every workload has something for: to go from one to another takes nobody out. */
const SAFE_PORTS: readonly (readonly object[])[] = [
  [HTTP],
  [HTTP, METRICS],
  [{ ...HTTP, name: 'web' }],
  [{ ...HTTP, appProtocol: 'kubernetes.io/h2c' }],
];
const ALL_PORTS: readonly (readonly object[])[] = [
  ...SAFE_PORTS,
  [{ ...HTTP, targetPort: 8080 }],
  [{ port: 8080, protocol: 'TCP' }],
  [METRICS],
  [{ name: 'dns', port: 53, targetPort: 'dns', protocol: 'UDP' }],
];

type Maker = (model: Model, service: ServiceModel) => Action;

const CALM: readonly (readonly [number, Maker])[] = [
  [4, (model, service) => patch(service, { metadata: { labels: labels(model.random) } })],
  [3, (model, service) => patch(service, { spec: { ports: ports(model.random, SAFE_PORTS) } })],
  [2, (model, service) => patch(service, { spec: { trafficDistribution: near(model.random) } })],
  [2, (_model, { target }) => ({ do: 'reconcile', target })],
];

const WILD: readonly (readonly [number, Maker])[] = [
  ...CALM,
  [5, (model, service) => patch(service, { spec: { selector: selector(model.random) } })],
  [3, (model, service) => patch(service, { spec: { ports: ports(model.random, ALL_PORTS) } })],
  [2, publishNotReady],
  [2, changeFamilies],
  [2, changeType],
  [2, remove],
  [6, damage],
];

/** What happens next to a Service. */
export function nextOfService(model: Model, service: ServiceModel): Action[] {
  const { random } = model;
  if (!service.exists) return [create(model, service)];
  // Whoever asks right after a change makes two jobs of it, for two workers.
  const { target } = service;
  const asked: Action[] = random.chance(0.3) ? [{ do: 'reconcile', target }] : [];
  if (isCalm(model, service)) return [pickWeighted(random, CALM)(model, service), ...asked];
  const action = pickWeighted(random, WILD)(model, service);
  // Deleted and made anew under the same name, with hardly a moment in between.
  if (action.do === 'delete service' && random.chance(0.6)) return [action, create(model, service)];
  return [action, ...asked];
}

export function create({ random }: Model, service: ServiceModel): Action {
  service.exists = true;
  service.type = pickWeighted(random, [
    [6, 'ClusterIP'],
    [3, 'headless'],
    [1, 'ExternalName'],
  ]);
  const { target } = service;
  const spec = {
    selector: withoutNulls(selector(random)),
    ...(service.type === 'ExternalName' ? EXTERNAL : clusterSpec(random, service)),
  };
  const metadata = { name: target.name, labels: withoutNulls(labels(random)) };
  return { do: 'create service', target, body: { metadata, spec } };
}

const EXTERNAL = { type: 'ExternalName', externalName: 'db.example.com' };

function clusterSpec(random: Random, { type }: ServiceModel): object {
  const portless = type === 'headless' && random.chance(0.2);
  return {
    ...(type === 'headless' ? { clusterIP: 'None' } : {}),
    ...(portless ? {} : { ports: ports(random, ALL_PORTS) }),
    ...random.pick(FAMILIES),
    publishNotReadyAddresses: random.chance(0.2),
    ...(random.chance(0.2) ? { trafficDistribution: 'PreferClose' } : {}),
  };
}

const FAMILIES: readonly object[] = [
  { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] },
  { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] },
  { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv6'] },
  { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] },
  { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] },
];

function remove(_model: Model, service: ServiceModel): Action {
  service.exists = false;
  return { do: 'delete service', target: service.target };
}

function publishNotReady({ random }: Model, service: ServiceModel): Action {
  return patch(service, { spec: { publishNotReadyAddresses: random.chance(0.5) } });
}

function changeFamilies(model: Model, service: ServiceModel): Action {
  if (service.type === 'ExternalName') return changeType(model, service);
  const policies = ['SingleStack', 'RequireDualStack'];
  return patch(service, { spec: { ipFamilyPolicy: model.random.pick(policies) } });
}

/** To ExternalName and back. */
function changeType({ random }: Model, service: ServiceModel): Action {
  if (service.type !== 'ExternalName') {
    service.type = 'ExternalName';
    return patch(service, { spec: EXTERNAL });
  }
  service.type = 'ClusterIP';
  const spec = { type: 'ClusterIP', externalName: null, ports: ports(random, ALL_PORTS) };
  return patch(service, { spec });
}

const DAMAGES: readonly (readonly [number, Damage])[] = [
  [3, 'drop an endpoint'],
  [2, 'add an endpoint'],
  [2, 'unready an endpoint'],
  [2, 'change a label'],
  [2, 'add a label'],
  [2, 'change the ports'],
  [3, 'delete'],
  [2, 'copy'],
  [1, 'copy without owner'],
  [1, 'move to another Service'],
  [1, 'give away'],
  [1, 'foreign slice'],
  [2, 'delete foreign slice'],
];

export function damage({ random }: Model, { target }: ServiceModel): Action {
  const how = pickWeighted(random, DAMAGES);
  return { do: 'damage', target, how, pick: random.int(0, 11) };
}

function patch({ target }: ServiceModel, body: object): Action {
  return { do: 'patch service', target, body };
}

/** As a merge patch: what is not wanted is null. A selector without any pair selects nothing. */
function selector(random: Random): object {
  const app = random.chance(0.95) ? random.pick(APPS) : null;
  const tier = app !== null && random.chance(0.25) ? random.pick(TIERS) : null;
  return { app, tier };
}

function labels(random: Random): object {
  return {
    team: random.pick(['a', 'b', null]),
    env: random.pick(['test', 'live', null]),
    // What a slice's own labels say is computed, whatever the Service claims.
    'endpointslice.kubernetes.io/managed-by': random.chance(0.1) ? 'nobody' : null,
  };
}

function ports(random: Random, choices: readonly (readonly object[])[]): readonly object[] {
  return random.pick(choices);
}

function near(random: Random): string | null {
  return random.pick(['PreferClose', 'PreferSameZone', null]);
}
