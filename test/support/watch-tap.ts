import type { Behaviour } from './misbehaviours.ts';

/** A hand on the watches that an interceptor lets through: what they say can be held back or said again. */
export interface WatchTap {
  /** For the watches that are to go through it. */
  readonly behaviour: Behaviour;
  /** Lines of events that the server has sent so far, also those that were held back. */
  readonly lines: readonly string[];
  /** Watches that are open. */
  readonly open: number;
  /** From now on nothing gets through. */
  hold(): void;
  /** What was held goes on its way, but for the lines that `keep` does not want. */
  release(keep?: (line: string) => boolean): void;
  /** Says something on every open watch, as if the server had. */
  say(lines: readonly string[]): void;
}

/** Makes one; it lets everything through until it is told otherwise. */
export function tapWatches(): WatchTap {
  const writers = new Set<(text: string) => void>();
  const lines: string[] = [];
  let held: (() => void)[] | null = null;
  let wanted: (line: string) => boolean = () => true;
  const behaviour: Behaviour = (_request, response, proceed) => {
    const write = response.write.bind(response) as (text: string) => boolean;
    const pass = (text: string): void => {
      const line = text.trim();
      if (!response.destroyed && (line === '' || wanted(line))) write(text);
    };
    // The interceptor writes whole lines, one a call.
    response.write = ((text: string) => {
      if (text.trim() !== '') lines.push(text.trim());
      if (held === null) pass(text);
      else held.push(() => pass(text));
      return true;
    }) as typeof response.write;
    writers.add(write);
    response.on('close', () => writers.delete(write));
    proceed();
  };
  return {
    behaviour,
    lines,
    get open() {
      return writers.size;
    },
    hold: () => {
      held ??= [];
    },
    release: (keep = () => true) => {
      const late = held ?? [];
      held = null;
      wanted = keep;
      for (const go of late) go();
      wanted = () => true;
    },
    say: (texts) => {
      for (const write of writers) for (const text of texts) write(`${text}\n`);
    },
  };
}
