import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../../test/parity/random.ts';
import { monotonicMs } from '../clock.ts';
import { addressOf, serviceKey, type World } from '../world.ts';
import { setReady } from './load.ts';
import type { Observer } from './observer.ts';
import type { RawClient } from './raw-client.ts';

/** Flips of readiness to make. */
export interface ChurnPlan {
  readonly perSecond: number;
  readonly seconds: number;
  /** How long to wait for the last flips to be seen, ms. */
  readonly timeoutMs: number;
}

/** What was seen of them. Moments are of the clock `monotonicMs`. */
export interface ChurnResult {
  readonly flips: number;
  /** From just before the request to the observer's event, in ms, in the order in which they were seen. */
  readonly latencies: readonly number[];
  /** How long the requests that made them took, ms: the part that no controller has a hand in. */
  readonly requests: readonly number[];
  /** Flips that no slice showed in time. */
  readonly missing: number;
  /** The longest time between two flips that were seen, ms. */
  readonly longestSilence: number;
  /** Events of slices while it went on. */
  readonly sliceWrites: number;
  /** Events that showed an address in two slices of its Service. */
  readonly doubled: number;
  /** Services that are not what they should be in the end: an endpoint missing, doubled or wrong. */
  readonly wrong: number;
  readonly from: number;
  readonly to: number;
}

const SEED = 1;
const SETTLE_MS = 10_000;

/**
 * Makes backing objects unready at a fixed rate, none of them twice, in an order that is the same in
 * every run, and times how long each takes to be seen.
 */
export async function churn(
  client: RawClient,
  world: World,
  observer: Observer,
  plan: ChurnPlan,
): Promise<ChurnResult> {
  const order = flipOrder(world, plan);
  const book = new FlipBook();
  observer.listen((key, sightings, at) => {
    for (const { address, ready } of sightings) if (!ready) book.seen(`${key} ${address}`, at);
  });
  const doubledBefore = observer.ledger.doubled;
  const before = countWrites(observer);
  const from = monotonicMs();
  const sent: Promise<number>[] = [];
  for (const [nth, { service, nth: backing }] of order.entries()) {
    await delay(Math.max(0, from + (nth * 1000) / plan.perSecond - monotonicMs()));
    expectFlip(world, observer, book, service, backing);
    sent.push(timed(() => setReady(client, world, { service, nth: backing }, false)));
  }
  const requests = await Promise.all(sent);
  const made = monotonicMs();
  while (book.pending > 0 && monotonicMs() - made < plan.timeoutMs) await delay(20);
  const to = monotonicMs();
  observer.listen(undefined);
  await observer.untilRight(Math.min(SETTLE_MS, plan.timeoutMs)).catch(() => undefined);
  return {
    flips: order.length,
    latencies: book.latencies,
    requests,
    missing: book.pending,
    longestSilence: book.longestSilence(from),
    sliceWrites: countWrites(observer) - before,
    doubled: observer.ledger.doubled - doubledBefore,
    wrong: observer.ledger.wrong().length,
    from,
    to,
  };
}

function expectFlip(
  world: World,
  { ledger }: Observer,
  book: FlipBook,
  service: number,
  backing: number,
): void {
  const key = serviceKey(world, service);
  const address = addressOf(world, service, backing);
  ledger.expect(key, address, false);
  book.made(`${key} ${address}`, monotonicMs());
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = monotonicMs();
  await work();
  return monotonicMs() - from;
}

/** Which backing objects to flip: drawn without putting back. */
function flipOrder(
  world: World,
  plan: ChurnPlan,
): { readonly service: number; readonly nth: number }[] {
  const all = world.services * world.per;
  const random = new Random(SEED);
  const left = Array.from({ length: all }, (_, at) => at);
  const wanted = Math.min(all, Math.round(plan.perSecond * plan.seconds));
  return Array.from({ length: wanted }, (_, taken) => {
    const at = random.int(taken, all - 1);
    const drawn = left[at] ?? 0;
    left[at] = left[taken] ?? 0;
    return { service: Math.floor(drawn / world.per), nth: drawn % world.per };
  });
}

function countWrites({ writes }: Observer): number {
  return writes.created + writes.updated + writes.deleted;
}

/** Flips on their way, and how long those took that arrived. */
export class FlipBook {
  readonly latencies: number[] = [];
  readonly #pending = new Map<string, number>();
  readonly #seenAt: number[] = [];

  get pending(): number {
    return this.#pending.size;
  }

  made(what: string, at: number): void {
    this.#pending.set(what, at);
  }

  seen(what: string, at: number): void {
    const made = this.#pending.get(what);
    if (made === undefined) return;
    this.#pending.delete(what);
    this.latencies.push(at - made);
    this.#seenAt.push(at);
  }

  longestSilence(from: number): number {
    let longest = 0;
    let last = from;
    for (const at of this.#seenAt) {
      longest = Math.max(longest, at - last);
      last = at;
    }
    return longest;
  }
}
