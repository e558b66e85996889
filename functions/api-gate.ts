import { ApiError, NO_SERVER, UnreachableError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Outcome } from '../core/outcome.ts';
import type { ServerHealth } from '../platform/kube/server-health.ts';
import { sleep } from '../platform/process/sleep.ts';

/** The API server as a whole does not answer this process. */
export interface Outage {
  /** One sentence for a person. */
  readonly reason: string;
  /** When it was found out, ms of the gate's clock. */
  readonly since: number;
}

/** What a run wants to know of outages. */
export interface OutageWatch {
  /** null: the API server answers, as far as is known. */
  readonly outage: Outage | null;
  /** An outage has just ended: watchers are about to catch up. */
  readonly justOver: boolean;
  /**
   * Whether the API server as a whole is what failed, so that the failure says nothing about its key.
   * Looks where the error leaves that open: resolves within some two seconds, and never rejects.
   */
  explains(error: unknown): Promise<boolean>;
}

export interface ApiGateDeps {
  /** Asks the API server how it is, for two seconds at most; never rejects. */
  readonly ask: (signal: AbortSignal) => Promise<ServerHealth>;
  /** Told when an outage begins, when more is known of it, and (null) when it is over. */
  readonly onChange: (outage: Outage | null) => void;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
}

/** A key that met an outage may be tried so much later, ms, by whichever worker takes keys then. */
export const OUTAGE_RETRY_MS = 250;
/** From one question to the next during an outage, ms; drawn, so that workers do not ask as one. */
const ASK_EVERY_MS = { least: 250, most: 500 } as const;
/** An answer counts for as long, ms: a burst of failures is one question. */
const FRESH_MS = 250;
/** A server that answers, and is not ready by its own word for so long, is used all the same, ms. */
const PATIENCE_MS = 10_000;
/** Watchers try again every second at most, and mark the view as in sync once all is watched, ms. */
const AFTERMATH_MS = 3_000;

/**
 * Stands before the queue of a worker: shut while the API server does not answer, so that no key is
 * taken that could only fail. Requests that fail raise a suspicion; what shuts the gate is that the
 * server's own health cannot be had either. So one key, one namespace, or one kind that fails never
 * does, whatever its failure looks like.
 */
export class ApiGate implements OutageWatch {
  readonly #deps: ApiGateDeps;
  readonly #stopping = new AbortController();
  #outage: Outage | null = null;
  #overAt = -Infinity;
  #asking: Promise<boolean> | null = null;
  #answeredAt = -Infinity;
  /** Since when the server says that it is not ready, and when it last said so. */
  #starting: { readonly since: number; readonly heardAt: number } | null = null;
  #waiting: Promise<void> = Promise.resolve();

  constructor(deps: ApiGateDeps) {
    this.#deps = deps;
  }

  get outage(): Outage | null {
    return this.#outage;
  }

  get justOver(): boolean {
    return this.#outage === null && this.#deps.monotonicMs() - this.#overAt < AFTERMATH_MS;
  }

  async explains(error: unknown): Promise<boolean> {
    if (!isSuspicious(error) || this.#stopping.signal.aborted) return false;
    if (this.#outage !== null) return true;
    if (this.#deps.monotonicMs() - this.#answeredAt < FRESH_MS) return false;
    return !(await this.#asked());
  }

  /** Gives up waiting for the server; resolves once nothing is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#asking, this.#waiting]);
  }

  /** Whether the server answers; several who want to know share one question. */
  #asked(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = null));
    return this.#asking;
  }

  async #ask(): Promise<boolean> {
    const { signal } = this.#stopping;
    const health = await this.#deps.ask(signal);
    // A question that was cut is no answer.
    if (signal.aborted) return true;
    if (this.#isUsable(health)) {
      this.#answeredAt = this.#deps.monotonicMs();
      this.#open();
      return true;
    }
    this.#shut(health.kind === 'answers' ? '' : health.reason);
    return false;
  }

  #isUsable({ kind }: ServerHealth): boolean {
    if (kind !== 'starting') {
      this.#starting = null;
      return kind === 'answers';
    }
    const now = this.#deps.monotonicMs();
    const before = this.#starting;
    // What it said long ago, with no word since, was another start.
    const goesOn = before !== null && now - before.heardAt <= PATIENCE_MS;
    this.#starting = { since: goesOn ? before.since : now, heardAt: now };
    return now - this.#starting.since >= PATIENCE_MS;
  }

  #shut(reason: string): void {
    const { log, monotonicMs, onChange } = this.#deps;
    const begins = this.#outage === null;
    if (this.#outage?.reason === reason) return;
    this.#outage = { reason, since: this.#outage?.since ?? monotonicMs() };
    onChange(this.#outage);
    if (!begins) return;
    log.warn({ reason }, 'the API server does not answer: no key is taken until it does');
    this.#waiting = this.#untilBack();
  }

  async #untilBack(): Promise<void> {
    const { random } = this.#deps;
    const { least, most } = ASK_EVERY_MS;
    const { signal } = this.#stopping;
    while (this.#outage !== null && !signal.aborted) {
      await sleep(least + (most - least) * random(), signal);
      if (!signal.aborted) await this.#asked();
    }
  }

  #open(): void {
    if (this.#outage === null) return;
    const { log, monotonicMs, onChange } = this.#deps;
    const awayMs = Math.round(monotonicMs() - this.#outage.since);
    this.#outage = null;
    this.#overAt = monotonicMs();
    log.info({ awayMs }, `the API server answers again after ${awayMs} ms: keys are taken`);
    onChange(null);
  }
}

/** Such errors are what an outage looks like to one request, among other things. */
function isSuspicious(error: unknown): boolean {
  return (
    error instanceof UnreachableError || (error instanceof ApiError && NO_SERVER.has(error.status))
  );
}

/** A failure that an outage explains is nobody's: not counted, and the key comes again at once. */
export async function excuseOutage(
  outcome: Outcome,
  watch: OutageWatch | undefined,
): Promise<Outcome> {
  if (watch === undefined || outcome.kind !== 'retry' || !outcome.failure) return outcome;
  if (!(await watch.explains(outcome.error))) return outcome;
  return { ...outcome, failure: false, afterMs: OUTAGE_RETRY_MS };
}
