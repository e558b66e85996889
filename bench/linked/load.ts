import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { percentile } from '../statistics.ts';
import { RawConnection, requestText } from './raw-http.ts';
import type { LoadOutcome, LoadPlan, PollOutcome, PollPlan } from './reader-api.ts';

const OK = 200;

/** Asks as fast as answers come, on so many connections. */
export async function load(plan: LoadPlan): Promise<LoadOutcome> {
  const request = requestText(plan.path);
  const latencies: number[] = [];
  let refused = 0;
  let bodyBytes = 0;
  const from = performance.now();
  const until = from + plan.seconds * 1000;
  const work = async (connection: RawConnection): Promise<void> => {
    for (let sent = performance.now(); sent < until; sent = performance.now()) {
      const { status, body } = await connection.ask(request);
      if (status === OK) latencies.push(performance.now() - sent);
      else refused += 1;
      bodyBytes = body.length;
      // A server that is gone must not make this a loop without an end.
      if (status === 0) await delay(1);
    }
    connection.close();
  };
  const connections = Array.from({ length: plan.connections }, () => new RawConnection(plan.port));
  await Promise.all(connections.map(work));
  const seconds = (performance.now() - from) / 1000;
  return {
    answers: latencies.length,
    perSecond: latencies.length / seconds,
    refused,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    bodyBytes,
  };
}

/** Asks at a steady rate, in turn over the targets, whatever the answers take. */
export class Poller {
  readonly #plan: PollPlan;
  readonly #idle: RawConnection[][];
  readonly #underWay = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #sent = 0;
  #answers = 0;
  #incomplete = 0;
  #failed = 0;
  #longest = 0;
  #example = '';

  constructor(plan: PollPlan) {
    this.#plan = plan;
    this.#idle = plan.targets.map(() => []);
    const from = monotonicMs();
    this.#timer = setInterval(() => {
      const due = ((monotonicMs() - from) * plan.perSecond) / 1000;
      while (this.#sent < due) this.#send();
    }, 1000 / plan.perSecond);
  }

  async stop(): Promise<PollOutcome> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
    for (const connection of this.#idle.flat()) connection.close();
    return {
      answers: this.#answers,
      incomplete: this.#incomplete,
      failed: this.#failed,
      example: this.#example,
      longest: this.#longest,
    };
  }

  #send(): void {
    const at = this.#sent % this.#plan.targets.length;
    this.#sent += 1;
    const asking = this.#ask(at).finally(() => this.#underWay.delete(asking));
    this.#underWay.add(asking);
  }

  async #ask(at: number): Promise<void> {
    const { port = 0, path = '' } = this.#plan.targets[at] ?? {};
    const connection = this.#idle[at]?.pop() ?? new RawConnection(port);
    const sent = monotonicMs();
    const { status, body } = await connection.ask(requestText(path));
    this.#idle[at]?.push(connection);
    this.#longest = Math.max(this.#longest, monotonicMs() - sent);
    this.#answers += 1;
    const missing = this.#plan.expected.filter((text) => !body.includes(text));
    if (status !== OK) this.#failed += 1;
    else if (missing.length > 0) this.#incomplete += 1;
    else return;
    this.#example ||= `${path}: ${status} ${body.slice(0, 300)}`;
  }
}
