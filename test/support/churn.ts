import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { Random } from '../parity/random.ts';
import { startSliceReader } from './churn-reader.ts';
import { eventually } from './eventually.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  remove,
  setReady,
  workloadPath,
} from './objects.ts';

/** A workload as it should be seen; what is not `member` has a label that its Service does not select. */
interface Workload {
  readonly name: string;
  readonly service: string;
  readonly ip: string;
  /** `stable` is never touched, `mover` changes its port only, `wild` does everything. */
  readonly kind: 'stable' | 'mover' | 'wild';
  port: number;
  ready: boolean;
  member: boolean;
  exists: boolean;
}

/** Services whose workloads change at random, and what their slices must come to. */
export interface Churn {
  readonly seed: number;
  readonly services: readonly string[];
  /** Changes made so far. */
  readonly changes: number;
  /** Changes things, one after another, until `stop`. */
  start(): void;
  /** Makes so many changes now. */
  change(count: number): Promise<void>;
  stop(): Promise<void>;
  /**
   * Waits until every slice is what it should be, to the endpoint: none missing, none double. Gives
   * how long that took, ms.
   */
  converged(timeoutMs?: number): Promise<number>;
  /** Stops; fails when an endpoint that was there throughout was missed since the last check. */
  check(): Promise<void>;
  /** Ends the reader. */
  end(): Promise<void>;
}

const PORTS = [8080, 9090, 7070];
/** Between two changes, ms: not to wait for anything, but to leave the machine some air. */
const PACE_MS = 15;
const KINDS: readonly Workload['kind'][] = ['stable', 'stable', 'mover', 'wild', 'wild'];

let worlds = 0;

/** Prints a line of a chaos test: a seed, a measured gap. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The seed of this run: TETHER_SEED, or a new one. */
export function chosenSeed(): number {
  return Number(process.env['TETHER_SEED'] ?? drawn);
}
const drawn = Date.now() % 1_000_000;

/** Makes `count` Services with five workloads each, waits for their slices, and reads them from then on. */
export async function makeChurn(namespace: string, count: number): Promise<Churn> {
  const seed = chosenSeed();
  say(`churn with TETHER_SEED=${seed}`);
  worlds += 1;
  const services = Array.from({ length: count }, (_, at) => `w${worlds}-${at}`);
  const workloads = services.flatMap((service, at) =>
    KINDS.map((kind, nth): Workload => {
      const ip = `198.18.${worlds}.${at * KINDS.length + nth + 1}`;
      const name = `${service}-${kind}-${nth}`;
      return { name, service, ip, kind, port: 8080, ready: true, member: true, exists: true };
    }),
  );
  await Promise.all(
    services.map((service) =>
      createService(namespace, service, {
        spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
      }),
    ),
  );
  for (const service of services) {
    const own = workloads.filter((workload) => workload.service === service);
    await Promise.all(own.map((workload) => bringIn(namespace, workload)));
  }
  const converged = (timeoutMs = 30_000): Promise<number> =>
    untilConverged(namespace, services, workloads, timeoutMs);
  await converged();
  const reader = await startSliceReader(namespace);
  reader.expectAlways(workloads.filter(({ kind }) => kind !== 'wild').map(({ ip }) => ip));

  const random = new Random(seed);
  const touched = workloads.filter(({ kind }) => kind !== 'stable');
  const stopping = { asked: false };
  let changes = 0;
  let running: Promise<void> = Promise.resolve();
  const change = async (times: number): Promise<void> => {
    for (let done = 0; done < times && !stopping.asked; done += 1) {
      await changeOne(namespace, random.pick(touched), random);
      changes += 1;
      await delay(PACE_MS);
    }
  };
  const stop = async (): Promise<void> => {
    stopping.asked = true;
    await running;
    stopping.asked = false;
    running = Promise.resolve();
  };
  return {
    seed,
    services,
    converged,
    change,
    stop,
    get changes() {
      return changes;
    },
    start: () => {
      running = change(Infinity);
      running.catch(() => undefined);
    },
    check: async () => {
      await stop();
      await reader.caughtUp();
      expect({ seed, missing: reader.takeMissing() }).toEqual({ seed, missing: [] });
    },
    end: async () => {
      await stop();
      await reader.stop();
    },
  };
}

async function bringIn(namespace: string, workload: Workload): Promise<void> {
  const { name, service, ip, port, ready } = workload;
  await createWorkload(namespace, name, service, { ips: [ip], ports: [portOf(port)], ready });
}

function portOf(port: number): object {
  return { name: 'http', port, protocol: 'TCP' };
}

async function changeOne(namespace: string, workload: Workload, random: Random): Promise<void> {
  const path = workloadPath(namespace, workload.name);
  const act = workload.kind === 'mover' ? 'move' : random.pick(['move', 'ready', 'label', 'life']);
  if (act === 'life' || !workload.exists) {
    workload.exists = !workload.exists;
    if (!workload.exists) return remove(path);
    workload.member = true;
    return bringIn(namespace, workload);
  }
  if (act === 'ready') {
    workload.ready = !workload.ready;
    return setReady(namespace, workload.name, workload.ready);
  }
  if (act === 'label') {
    workload.member = !workload.member;
    const app = workload.member ? workload.service : 'nobody';
    await mergePatch(path, { metadata: { labels: { app } } });
    return;
  }
  workload.port = random.pick(PORTS.filter((port) => port !== workload.port));
  await mergePatch(path, { spec: { ports: [portOf(workload.port)] } });
}

async function untilConverged(
  namespace: string,
  services: readonly string[],
  workloads: readonly Workload[],
  timeoutMs: number,
): Promise<number> {
  const from = performance.now();
  for (const service of services) {
    const expected = workloads
      .filter((one) => one.service === service && one.exists && one.member)
      .map(({ ip, port, ready }) => `${ip} ${port} ${ready ? 'ready' : 'not-ready'}`)
      .sort();
    await eventually(
      async () => {
        expect({ service, endpoints: await endpointsOf(namespace, service) }).toEqual({
          service,
          endpoints: expected,
        });
      },
      { timeoutMs: Math.max(1, timeoutMs - (performance.now() - from)) },
    );
  }
  return Math.round(performance.now() - from);
}
