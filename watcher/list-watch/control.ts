import { ShutdownError } from '../../core/errors.ts';

/** What the outside wants of a loop: an end, or a list. */
export class Control {
  readonly stopping = new AbortController();
  private round = new AbortController();
  private listing = false;
  private waiting: PromiseWithResolvers<void>[] = [];

  /** The signal of the next list and watch; it aborts when `stop` or `askForList` interrupts them. */
  nextRound(): AbortSignal {
    this.round = new AbortController();
    if (this.stopping.signal.aborted) this.round.abort(new ShutdownError());
    return this.round.signal;
  }

  get listWanted(): boolean {
    return this.waiting.length > 0;
  }

  stop(): void {
    this.stopping.abort(new ShutdownError());
    this.round.abort(new ShutdownError());
    for (const waiter of this.waiting.splice(0)) waiter.reject(new ShutdownError());
  }

  /** Resolves with the next list to begin; all who ask before it does wait for the same, however long. */
  askForList(): Promise<void> {
    if (this.stopping.signal.aborted) return Promise.reject(new ShutdownError());
    const [asked] = this.waiting;
    if (asked !== undefined) return asked.promise;
    const waiter = Promise.withResolvers<void>();
    this.waiting.push(waiter);
    if (!this.listing) this.round.abort(new Error('a list was asked for'));
    return waiter.promise;
  }

  /** Those who asked before the list began are served by it; after a failure they go on waiting. */
  async list(deliver: () => Promise<void>): Promise<void> {
    const served = this.waiting.splice(0);
    this.listing = true;
    try {
      await deliver();
      for (const waiter of served) waiter.resolve();
    } catch (error) {
      if (this.stopping.signal.aborted)
        for (const waiter of served) waiter.reject(new ShutdownError());
      else this.waiting.unshift(...served);
      throw error;
    } finally {
      this.listing = false;
    }
  }
}
