import { isWithin } from '../../core/cidr.ts';
import { judgeAddress } from '../../core/ip.ts';
import type { IpFamily } from '../../core/records.ts';
import type { PlanOptions } from './types.ts';

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

/** Where whoever runs Tether lets workloads be. */
type Ranges = Pick<PlanOptions, 'workloadCidrsAllow' | 'workloadCidrsDeny'>;

/** What validation in the API server allows in one endpoint. */
const MOST_ADDRESSES = 100;

/**
 * Sorts a workload's addresses into families. A repeated address counts once; an address that the
 * API server would refuse, or that lies outside of the ranges, is left out alone. A refused address of
 * a family that nobody wants is nobody's problem: many hosts report a link-local IPv6 address beside
 * their real one.
 */
export function sortAddresses(
  texts: readonly string[],
  families: readonly IpFamily[],
  ranges: Ranges,
): WorkloadAddresses {
  const sorted: Mutable<WorkloadAddresses> = { IPv4: NONE, IPv6: NONE, refused: NONE };
  const refuse = (text: string, reason: string): void => {
    sorted.refused = [...sorted.refused, { text, reason }];
  };
  for (const text of texts) {
    const verdict = judgeAddress(text);
    if (!verdict.usable) {
      if (verdict.family === null || families.includes(verdict.family)) {
        refuse(text, verdict.reason);
      }
      continue;
    }
    const { family, address } = verdict;
    const addresses = sorted[family];
    if (addresses.includes(address)) continue;
    const excluded = whyExcluded(address, ranges);
    if (excluded !== null) {
      if (families.includes(family)) refuse(text, excluded);
    } else if (addresses.length < MOST_ADDRESSES) sorted[family] = [...addresses, address];
    else refuse(text, `comes after ${MOST_ADDRESSES} others`);
  }
  return sorted;
}

/** Says why an address lies where no workload may be; completes "the address ...". */
function whyExcluded(
  address: string,
  { workloadCidrsAllow: allow, workloadCidrsDeny: deny }: Ranges,
): string | null {
  const denied = deny.find((range) => isWithin(address, range));
  if (denied !== undefined) return `is in ${denied.text}, which --workload-cidrs-deny excludes`;
  if (allow.length === 0 || allow.some((range) => isWithin(address, range))) return null;
  return 'is in no range of --workload-cidrs-allow';
}

/** Shared by all workloads: most have one address, of one family, and nothing to refuse. */
const NONE: readonly never[] = [];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
