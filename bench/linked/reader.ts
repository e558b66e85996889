import { join } from 'node:path';
import { forkApi, type Forked } from '../agent/rpc.ts';
import type { ReaderApi } from './reader-api.ts';

const MAIN = join(import.meta.dirname, 'reader-main.ts');

/** A process of clients. */
export type Reader = ReaderApi & Forked;

export function startReader(): Reader {
  const methods = {
    load: true,
    startPolling: true,
    stopPolling: true,
    ask: true,
    subscribe: true,
    untilSeen: true,
    sightings: true,
    unsubscribe: true,
    prepareReal: true,
    changeReal: true,
  } as const;
  return forkApi<ReaderApi>(MAIN, methods, () => undefined);
}
