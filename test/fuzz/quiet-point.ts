import type { ApiObject } from '../../core/api-objects.ts';
import { PATHS } from '../../platform/kube/endpoint-api.ts';
import { eventually } from '../support/eventually.ts';
import { differences } from './difference.ts';
import { NAMESPACES } from './schedule/model.ts';
import { MANAGER, type Stage } from './stage.ts';
import { World, type Kind } from './world.ts';

/** All is as it should be, within this time: a key that has failed often waits for a minute. */
const LIMIT_MS = 75_000;
const LOOK_EVERY_MS = 200;
const SAY_EVERY_MS = 5_000;
const OURS: ReadonlySet<string> = new Set(NAMESPACES);

/** The slices are not what they should be; each line says what is wrong. */
export class WrongStateError extends Error {
  override readonly name = 'WrongStateError';
}

export interface Right {
  /** How long it took until all was right. */
  readonly tookMs: number;
  readonly world: World;
}

/**
 * Waits until every member is ready, nothing is in the queue, and all slices are as the oracle says;
 * then has every Service looked at once more and sees that nothing is written.
 *
 * @throws {WrongStateError} with what was wrong last.
 */
export async function untilRight(
  stage: Stage,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Right> {
  const begun = performance.now();
  const wait = patience(say, signal);
  await wait(() => faultsOf(stage));
  signal.throwIfAborted();
  const took = performance.now() - begun;
  const before = (await readWorld(stage)).versions('slice');
  await stage.tether('resync');
  await wait(() => busyness(stage));
  const world = await readWorld(stage);
  demand(changedBy('a resync of a right world', before, world.versions('slice')));
  return { tookMs: Math.round(took), world };
}

type Look = () => Promise<string[]>;

/** Waits until a look finds nothing wrong; says now and then what it waits for. */
function patience(say: (line: string) => void, signal: AbortSignal): (look: Look) => Promise<void> {
  return async (look) => {
    let nextWord = performance.now() + SAY_EVERY_MS;
    await eventually(
      async () => {
        // Who is to stop has seen enough.
        if (signal.aborted) return;
        const wrong = await look();
        if (wrong.length > 0 && performance.now() > nextWord) {
          nextWord += SAY_EVERY_MS;
          say(`  not yet: ${wrong.length} things such as ${wrong[0]}`);
        }
        demand(wrong);
      },
      { timeoutMs: LIMIT_MS, intervalMs: LOOK_EVERY_MS },
    );
  };
}

function demand(wrong: readonly string[]): void {
  if (wrong.length > 0) throw new WrongStateError(wrong.join('\n  '));
}

/** What is first found wrong: each look is dearer than the one before. */
async function faultsOf(stage: Stage): Promise<string[]> {
  const members = await Promise.all(Object.values(stage.members).map((one) => one.notReady()));
  const waiting = members.filter((text) => text !== null);
  if (waiting.length > 0) return waiting;
  const busy = await busyness(stage);
  // All that is wrong, once it comes to telling people: a queue that never ends has a reason.
  return [...busy, ...differences(await readWorld(stage), stage.maxEndpoints)];
}

async function busyness({ queue }: Stage): Promise<string[]> {
  const busy = await queue.busy();
  return Object.keys(busy).length === 0 ? [] : [`the queue is not empty: ${JSON.stringify(busy)}`];
}

/** The world as the API server lists it. */
async function readWorld({ client }: Stage): Promise<World> {
  const world = new World(MANAGER);
  for (const kind of ['service', 'workload', 'slice'] as const satisfies readonly Kind[]) {
    const { items } = await client.get<{ readonly items: readonly ApiObject[] }>(PATHS[kind], {
      what: `list ${kind}s`,
    });
    for (const object of items) {
      const { namespace = '', name = '', resourceVersion } = object.metadata ?? {};
      if (!OURS.has(namespace)) continue;
      world.apply({ revision: Number(resourceVersion), kind, namespace, name, object });
    }
  }
  return world;
}

function changedBy(
  what: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort();
  return keys
    .filter((key) => before.get(key) !== after.get(key))
    .map((key) => {
      const [from, to] = [before, after].map((versions) => versions.get(key) ?? 'nothing');
      return `${what} changed the slice ${key} from version ${from} to ${to}`;
    });
}
