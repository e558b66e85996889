import { join } from 'node:path';
import { forkApi, type Forked } from '../agent/rpc.ts';

/** A bare HTTP server of Node. */
export interface ConstantApi {
  /** Answers every request with so many bytes, from now on; gives its port. */
  serve(bytes: number): Promise<number>;
}

export function startConstantServer(): ConstantApi & Forked {
  const main = join(import.meta.dirname, 'constant-main.ts');
  return forkApi<ConstantApi>(main, { serve: true }, () => undefined);
}
