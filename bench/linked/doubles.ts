import { join } from 'node:path';
import { forkApi, type Forked } from '../agent/rpc.ts';
import type { DoublesApi } from './doubles-api.ts';

const MAIN = join(import.meta.dirname, 'doubles-main.ts');

/** The remote clusters of a run, all in one process. */
export type Doubles = DoublesApi & Forked;

export function startDoubles(): Doubles {
  const methods = {
    make: true,
    change: true,
    addToken: true,
    revokeAllBut: true,
    watches: true,
    close: true,
  } as const;
  return forkApi<DoublesApi>(MAIN, methods, () => undefined);
}
