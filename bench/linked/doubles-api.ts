/** How a remote cluster of the bench behaves. */
export type DoubleMode = 'good' | 'black-hole' | 'refusing' | 'garbage';

/** A remote cluster that was made; its kubeconfig goes into a Secret. */
export interface MadeDouble {
  readonly name: string;
  readonly mode: DoubleMode;
  readonly kubeconfig: string;
}

/** Services of a double, all in one namespace: `service-N`, each with one slice of `per` endpoints. */
export interface DoubleWorld {
  readonly services: number;
  readonly per: number;
}

/** One change of a remote cluster. */
export interface Change {
  /** An address that was not there before. */
  readonly address: string;
  /** By `monotonicMs`, just before it was made. */
  readonly at: number;
}

export interface ChangePlan {
  readonly cluster: string;
  readonly perSecond: number;
  readonly seconds: number;
}

/** The process that stands in for the API servers of remote clusters. */
export interface DoublesApi {
  /** Makes a cluster called `name`, which must be new. */
  make(name: string, mode: DoubleMode, world: DoubleWorld): Promise<MadeDouble>;
  /** Gives `service-0` of a cluster one new first address after another, at a steady rate. */
  change(plan: ChangePlan): Promise<readonly Change[]>;
  /** Makes another token beside those that there are; gives the kubeconfig that has it. */
  addToken(cluster: string): Promise<{ readonly token: string; readonly kubeconfig: string }>;
  /** From now on every other token is refused. */
  revokeAllBut(cluster: string, token: string): Promise<void>;
  /** Open watches: all, or those of one token. */
  watches(cluster: string, token?: string): Promise<number>;
  close(cluster: string): Promise<void>;
}

export const REMOTE_NAMESPACE = 'remote';

/** The addresses of `service-N` when it was made. */
export function addressesOf(service: number, per: number): string[] {
  return Array.from(
    { length: per },
    (_, nth) => `10.${64 + (service >> 8)}.${service & 255}.${nth + 1}`,
  );
}
