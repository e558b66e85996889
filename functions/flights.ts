interface Flight<T> {
  readonly run: Promise<T>;
  /** For those who asked while it was under way. */
  next: Promise<T> | null;
}

/** Runs by their key, one at a time of each. */
export interface Flights<T> {
  /**
   * Gives what comes of a run that began after this call. Whoever asks during a run shares the next one,
   * which begins when that run has ended, because that run may have read the world before the change: as
   * in the queue, however many ask at once, it is two runs.
   */
  ask(key: string, start: () => Promise<T>): Promise<T>;
  /** Keys with a run under way. */
  readonly active: number;
  /** Resolves once no run is under way. */
  idle(): Promise<void>;
}

export function createFlights<T>(): Flights<T> {
  const flights = new Map<string, Flight<T>>();
  const begin = (key: string, start: () => Promise<T>): Promise<T> => {
    const flight: Flight<T> = { run: start(), next: null };
    flights.set(key, flight);
    // Before whatever was asked for meanwhile begins, and in the same turn.
    const end = (): void => void flights.delete(key);
    flight.run.then(end, end);
    return flight.run;
  };
  return {
    ask: (key, start) => {
      const flight = flights.get(key);
      if (flight === undefined) return begin(key, start);
      const again = (): Promise<T> => begin(key, start);
      return (flight.next ??= flight.run.then(again, again));
    },
    get active() {
      return flights.size;
    },
    idle: async () => {
      while (flights.size > 0) {
        await Promise.allSettled([...flights.values()].map(({ run }) => run));
      }
    },
  };
}
