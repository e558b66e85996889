import { resourceOf } from './resource-path.ts';

/** Who is told of a client's requests. `code` is 0 when no answer came; a watch is told at its end. */
export interface ClientObserver {
  /** For metrics. */
  onRequest?(verb: string, resource: string, code: number, seconds: number): void;
  /**
   * For traces: as a request begins, in the asynchronous context of whoever makes it. Gives what is to be told
   * its code. `what` names verb, resource and object.
   */
  onBegin?(verb: string, path: string, what: string): ((code: number) => void) | undefined;
}

/** Tells that a request begins; gives what is to be called once it has settled. */
export function observed(
  observer: ClientObserver | undefined,
  verb: string,
  path: string,
  what: string,
): ((code: number) => void) | undefined {
  if (observer === undefined) return undefined;
  const told = observer.onBegin?.(verb, path, what);
  if (observer.onRequest === undefined) return told;
  const begun = performance.now();
  return (code) => {
    observer.onRequest?.(verb, resourceOf(path), code, (performance.now() - begun) / 1000);
    told?.(code);
  };
}
