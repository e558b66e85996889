import { serveApi } from '../agent/rpc.ts';
import { load, Poller } from './load.ts';
import { RawConnection, requestText } from './raw-http.ts';
import type { ReaderApi } from './reader-api.ts';
import { changeReal, prepareReal } from './real-changes.ts';
import { Subscribers } from './subscribers.ts';

// A process of its own, forked by linked/reader.ts.

let poller: Poller | undefined;
let subscribers = new Subscribers();

const api: ReaderApi = {
  load,
  startPolling: async (plan) => {
    poller = new Poller(plan);
  },
  stopPolling: async () => {
    if (poller === undefined) throw new Error('startPolling comes first');
    return poller.stop();
  },
  ask: async ({ port, path }) => {
    const connection = new RawConnection(port);
    const answer = await connection.ask(requestText(path));
    connection.close();
    return answer;
  },
  subscribe: (target, count) => subscribers.open(target, count),
  untilSeen: (address, timeoutMs) => subscribers.untilSeen(address, timeoutMs),
  sightings: async () => subscribers.take(),
  unsubscribe: async () => {
    const lost = subscribers.close();
    subscribers = new Subscribers();
    return lost;
  },
  prepareReal,
  changeReal,
};

serveApi(api);
