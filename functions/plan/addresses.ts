import { judgeAddress } from '../../core/ip.ts';
import type { IpFamily } from '../../core/records.ts';

export interface RefusedAddress {
  /** As it was written. */
  readonly text: string;
  /** Completes "the address ...". */
  readonly reason: string;
}

/** The addresses of one workload: usable ones by family, canonical and in the workload's order. */
export interface WorkloadAddresses {
  readonly IPv4: readonly string[];
  readonly IPv6: readonly string[];
  /** Refused ones that could have reached a slice of the wanted families. */
  readonly refused: readonly RefusedAddress[];
}

/** What validation in the API server allows in one endpoint. */
const MOST_ADDRESSES = 100;

/**
 * Sorts a workload's addresses into families. A repeated address counts once; an address that the
 * API server would refuse is left out alone. A refused address of a family that nobody wants is
 * nobody's problem: many hosts report a link-local IPv6 address beside their real one.
 */
export function sortAddresses(
  texts: readonly string[],
  families: readonly IpFamily[],
): WorkloadAddresses {
  const sorted: Mutable<WorkloadAddresses> = { IPv4: NONE, IPv6: NONE, refused: NONE };
  for (const text of texts) {
    const verdict = judgeAddress(text);
    if (verdict.usable) {
      const addresses = sorted[verdict.family];
      if (addresses.includes(verdict.address)) continue;
      if (addresses.length < MOST_ADDRESSES) {
        sorted[verdict.family] = [...addresses, verdict.address];
        continue;
      }
      sorted.refused = [
        ...sorted.refused,
        { text, reason: `comes after ${MOST_ADDRESSES} others` },
      ];
    } else if (verdict.family === null || families.includes(verdict.family)) {
      sorted.refused = [...sorted.refused, { text, reason: verdict.reason }];
    }
  }
  return sorted;
}

/** Shared by all workloads: most have one address, of one family, and nothing to refuse. */
const NONE: readonly never[] = [];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
