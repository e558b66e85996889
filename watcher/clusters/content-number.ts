/** Finds the generation that the accepted content of one cluster is to be watched under. */
export class ContentNumber {
  readonly #nextGeneration: () => Promise<number>;
  /** The number that the content was accepted under; 0: any will do. */
  #accepted: number;
  /** A number that its owner took for the same content, as the one before would not do; 0: none. */
  #fresh = 0;
  /** The content is another than before: no view is known to come from it. */
  #unseen = false;

  constructor(accepted: number, nextGeneration: () => Promise<number>) {
    this.#accepted = accepted;
    this.#nextGeneration = nextGeneration;
  }

  /** Says which content is accepted now; true if it is another one than before. */
  aim(accepted: number): boolean {
    if (accepted === this.#accepted) return false;
    this.#accepted = accepted;
    this.#fresh = 0;
    this.#unseen = true;
    return true;
  }

  /**
   * A view that is newer than the content comes from it, too: its history had gone back. But not one that
   * served already when the content was new: it got its number from an owner who did not know better.
   *
   * @param serving the generation that look-ups read; 0: none.
   * @throws ioredis' error while Redis is away.
   */
  async wanted(serving: number): Promise<number> {
    const known = (): number => Math.max(this.#accepted, this.#fresh);
    const passed = this.#unseen && serving > known();
    if (passed || Math.max(serving, known()) === 0) await this.renew();
    else this.#unseen = false;
    return Math.max(serving, known());
  }

  /** Takes a number for the content; for another one that was accepted meanwhile it is not used. */
  async renew(): Promise<void> {
    const accepted = this.#accepted;
    const fresh = await this.#nextGeneration();
    if (accepted !== this.#accepted) return;
    this.#fresh = fresh;
    this.#unseen = false;
  }
}
