import type { DoubleWorld } from './doubles-api.ts';

/** How large everything about linked clusters is. */
export interface LinkedSizes {
  /** Local Services and workloads that start up beside the clusters. */
  readonly local: { readonly services: number; readonly per: number };
  /** API servers, the served one among them, that are linked as clusters; the rest are doubles. */
  readonly real: number;
  readonly good: number;
  readonly blackHoles: number;
  readonly refusing: number;
  readonly garbage: number;
  /** Of each double. */
  readonly remote: DoubleWorld;
  readonly load: { readonly connections: number; readonly seconds: number };
  readonly changes: { readonly perSecond: number; readonly seconds: number };
  readonly rotations: number;
  readonly pollsPerSecond: number;
  readonly subscribers: number;
  /** Changes that all subscribers are waited for. */
  readonly rounds: number;
  readonly large: DoubleWorld;
  readonly takeover: { readonly perSecond: number; readonly seconds: number };
}

export const FULL_LINKED: LinkedSizes = {
  local: { services: 500, per: 4 },
  real: 3,
  good: 35,
  blackHoles: 5,
  refusing: 5,
  garbage: 2,
  remote: { services: 20, per: 4 },
  load: { connections: 32, seconds: 10 },
  changes: { perSecond: 20, seconds: 20 },
  rotations: 10,
  pollsPerSecond: 100,
  subscribers: 10_000,
  rounds: 10,
  large: { services: 2000, per: 4 },
  takeover: { perSecond: 20, seconds: 10 },
};

/** Proves that everything works; its figures mean nothing. */
export const QUICK_LINKED: LinkedSizes = {
  local: { services: 5, per: 2 },
  real: 1,
  good: 2,
  blackHoles: 1,
  refusing: 1,
  garbage: 1,
  remote: { services: 2, per: 4 },
  load: { connections: 4, seconds: 0.3 },
  changes: { perSecond: 20, seconds: 0.5 },
  rotations: 1,
  pollsPerSecond: 100,
  subscribers: 50,
  rounds: 1,
  large: { services: 50, per: 2 },
  takeover: { perSecond: 20, seconds: 1 },
};
