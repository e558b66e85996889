import type { ServerResponse } from 'node:http';
import { HEARTBEAT } from './frames.ts';
import type { Target } from './target.ts';
import { Topic, type Subscriber, type TopicDeps } from './topic.ts';

/** Each subscriber hears something at least so often, s. */
const HEARTBEAT_EVERY = 15;
/** A reader that took nothing for so long is cut off, ms: it may come back. */
const SLOW_LIMIT_MS = 60_000;
/** How long a topic outlives its last subscriber: so long who comes back gets what changed alone, ms. */
const LINGER_MS = 60_000;
/** Bytes of events that all topics remember together, roughly. */
const MEMORY = 33_554_432;
const MEMORY_OF_ONE = 262_144;

export type StreamDeps = Omit<TopicDeps, 'memory'>;

/** All subscribers of a process. */
export class Streams {
  readonly #topics = new Map<string, Topic>();
  readonly #deps: TopicDeps;
  /** Subscribers by the second in which they are due a heartbeat. */
  readonly #due = Array.from({ length: HEARTBEAT_EVERY }, () => new Set<Subscriber>());
  #seconds = 0;
  #count = 0;

  constructor(deps: StreamDeps) {
    const memory = (): number => Math.min(MEMORY_OF_ONE, MEMORY / this.#topics.size);
    this.#deps = { ...deps, memory };
  }

  /** How many there are now. */
  get subscribers(): number {
    return this.#count;
  }

  /** What is followed under this name; begins to follow `target` when nothing is. */
  topic(name: string, target: () => Target): Topic {
    const known = this.#topics.get(name);
    if (known !== undefined && !known.ended) return known;
    const topic = new Topic(target(), this.#deps);
    this.#topics.set(name, topic);
    return topic;
  }

  /** Writes to this response, whose head is sent with this, until one side ends it. */
  open(topic: Topic, response: ServerResponse, lastId: string): void {
    response.writeHead(200, HEAD);
    response.flushHeaders();
    const { socket } = response;
    if (socket === null) return;
    const retryMs = 500 + Math.floor(Math.random() * 2_500);
    const subscriber = topic.join(socket, lastId, retryMs);
    const due = this.#leastFilled();
    due.add(subscriber);
    this.#count += 1;
    socket.once('close', () => {
      this.#count -= 1;
      due.delete(subscriber);
      topic.leave(subscriber);
    });
  }

  /** To be called each second. */
  tick(): void {
    const now = this.#deps.monotonicMs();
    this.#beat();
    for (const due of this.#due) for (const subscriber of due) cutOff(subscriber, now);
    for (const [name, topic] of this.#topics) {
      const { idleSince, ended, known } = topic;
      const lingered = idleSince !== null && now - idleSince > LINGER_MS;
      const useless = idleSince !== null && known.kind !== 'set';
      if (!ended && (lingered || useless)) topic.close();
      if (topic.ended) this.#topics.delete(name);
    }
  }

  /** So that heartbeats stay spread over the seconds, whoever comes and goes. */
  #leastFilled(): Set<Subscriber> {
    return this.#due.reduce((least, due) => (due.size < least.size ? due : least));
  }

  #beat(): void {
    this.#seconds += 1;
    for (const { socket } of this.#due[this.#seconds % HEARTBEAT_EVERY] ?? []) {
      if (socket.writable && socket.writableLength === 0) socket.write(HEARTBEAT);
    }
  }

  /** Ends every response in order. */
  close(): void {
    for (const topic of this.#topics.values()) if (!topic.ended) topic.close();
    this.#topics.clear();
  }
}

function cutOff({ socket, slowSince }: Subscriber, now: number): void {
  if (slowSince !== null && now - slowSince > SLOW_LIMIT_MS) socket.destroy();
}

const HEAD = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-store'],
  ['transfer-encoding', 'chunked'],
  // A buffering proxy in between would hold events back.
  ['x-accel-buffering', 'no'],
].flat();
