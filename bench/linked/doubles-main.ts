import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
import { ApiDouble, DOUBLE_TOKEN } from '../../test/support/api-double.ts';
import { answer, JSON_TYPE, refuse } from '../../test/support/misbehaviours.ts';
import { serveApi } from '../agent/rpc.ts';
import { monotonicMs } from '../clock.ts';
import {
  addressesOf,
  REMOTE_NAMESPACE,
  type Change,
  type ChangePlan,
  type DoubleMode,
  type DoublesApi,
  type DoubleWorld,
} from './doubles-api.ts';

// A process of its own, forked by linked/doubles.ts.

const doubles = new Map<string, { readonly double: ApiDouble; readonly world: DoubleWorld }>();
let made = 0;
let tokens = 0;

const api: DoublesApi = {
  make: async (name, mode, world) => {
    if (mode === 'black-hole') return { name, mode, kubeconfig: await blackHoleConfig() };
    const double = await ApiDouble.start();
    for (let nth = 0; nth < world.services; nth += 1) putService(double, nth, world.per);
    misbehave(double, mode);
    doubles.set(name, { double, world });
    return { name, mode, kubeconfig: double.kubeconfig() };
  },
  change,
  addToken: async (cluster) => {
    const { double } = of(cluster);
    const token = `${DOUBLE_TOKEN}-${(tokens += 1)}`;
    double.users.set(token, { name: 'admin' });
    return { token, kubeconfig: double.kubeconfig(token) };
  },
  revokeAllBut: async (cluster, token) => {
    const { users } = of(cluster).double;
    for (const known of users.keys()) if (known !== token) users.delete(known);
  },
  watches: async (cluster, token) => {
    const { double } = of(cluster);
    return token === undefined ? double.openWatches : double.watchesBy(token);
  },
  close: async (cluster) => {
    await of(cluster).double.close();
    doubles.delete(cluster);
  },
};

function of(cluster: string): { readonly double: ApiDouble; readonly world: DoubleWorld } {
  const found = doubles.get(cluster);
  if (found === undefined) throw new Error(`there is no cluster ${cluster}`);
  return found;
}

function misbehave(double: ApiDouble, mode: DoubleMode): void {
  if (mode === 'refusing') double.misbehave(refuse(401, { reason: 'Unauthorized' }));
  if (mode === 'garbage')
    double.misbehave(answer(200, '{"kind":"ServiceList","items":[{', JSON_TYPE));
}

/** The kubeconfig of a server that takes connections and never says a word, not even TLS. */
async function blackHoleConfig(): Promise<string> {
  const hole = createServer((socket: Socket) => void socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => void hole.listen(0, '127.0.0.1', resolve));
  const pattern = await ApiDouble.start();
  const kubeconfig = pattern.kubeconfig();
  const port = String((hole.address() as AddressInfo).port);
  const text = kubeconfig.replace(`:${pattern.port}"`, `:${port}"`);
  await pattern.close();
  return text;
}

function putService(double: ApiDouble, nth: number, per: number): void {
  const service = {
    metadata: { namespace: REMOTE_NAMESPACE, name: `service-${nth}` },
    spec: { type: 'ClusterIP', clusterIP: '10.0.0.1', ports: [{ name: 'http', port: 80 }] },
  };
  double.put('services', service);
  putSlice(double, nth, addressesOf(nth, per));
}

function putSlice(double: ApiDouble, nth: number, addresses: readonly string[]): void {
  const name = `service-${nth}`;
  const slice = {
    metadata: {
      namespace: REMOTE_NAMESPACE,
      name: `${name}-slice`,
      labels: { [LABEL_SERVICE_NAME]: name },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
    })),
  };
  double.put('endpointslices', slice);
}

async function change({ cluster, perSecond, seconds }: ChangePlan): Promise<Change[]> {
  const { double, world } = of(cluster);
  const rest = addressesOf(0, world.per).slice(1);
  const from = monotonicMs();
  const changes: Change[] = [];
  for (let nth = 0; nth < perSecond * seconds; nth += 1) {
    await delay(Math.max(0, from + (nth * 1000) / perSecond - monotonicMs()));
    made += 1;
    const address = `172.${16 + (made >> 16)}.${(made >> 8) & 255}.${made & 255}`;
    changes.push({ address, at: monotonicMs() });
    putSlice(double, 0, [address, ...rest]);
  }
  return changes;
}

serveApi(api);
