import ipaddr from 'ipaddr.js';
import type { IpFamily } from './records.ts';

/**
 * What an EndpointSlice may hold of an address that somebody wrote down: the canonical text
 * (RFC 5952), or why not. `reason` completes the sentence "the address ...".
 */
export type AddressVerdict =
  | { readonly usable: true; readonly family: IpFamily; readonly address: string }
  | {
      readonly usable: false;
      /** Null where the text belongs to neither family. */
      readonly family: IpFamily | null;
      readonly reason: string;
    };

/** The longest text of an IPv6 address: six groups and a dotted tail. */
const LONGEST_ADDRESS = 45;

/**
 * Verdicts by text. A plan asks for the same addresses at every run, and parsing is the dearest
 * step of it; a verdict depends on nothing but its text, so that forgetting all is always safe.
 */
const verdicts = new Map<string, AddressVerdict>();
const MOST_VERDICTS = 32_768;

/**
 * Judges one address as kube-apiserver 1.36 does when it validates an EndpointSlice (strict IP
 * validation on), so that one bad address is left out alone instead of having the whole slice
 * refused: no leading zeros, zone ids or IPv4-mapped addresses; not unspecified, loopback or
 * link-local. Multicast is refused in every scope: no endpoint of a Service can answer from it.
 */
export function judgeAddress(text: string): AddressVerdict {
  const known = verdicts.get(text);
  if (known !== undefined) return known;
  const verdict = Object.freeze(judge(text));
  if (text.length > LONGEST_ADDRESS) return verdict;
  if (verdicts.size >= MOST_VERDICTS) verdicts.clear();
  verdicts.set(text, verdict);
  return verdict;
}

function judge(text: string): AddressVerdict {
  if (text.length > LONGEST_ADDRESS) return refuse(null, 'is not an IP address');
  if (text.includes('%')) return refuse(null, 'carries a zone id, which means nothing elsewhere');
  return text.includes(':') ? judgeIPv6(text) : judgeIPv4(text);
}

function judgeIPv4(text: string): AddressVerdict {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text)) {
    const octal = /^\d+(\.\d+){3}$/.test(text) && /(^|\.)0\d/.test(text);
    return refuse(null, octal ? 'has leading zeros' : 'is not an IP address');
  }
  const [first = 0, second = 0] = ipaddr.IPv4.parse(text).octets;
  if (text === '0.0.0.0') return refuse('IPv4', 'is the unspecified address');
  if (first === 127) return refuse('IPv4', 'is a loopback address');
  if (first === 169 && second === 254) return refuse('IPv4', 'is a link-local address');
  if (first >= 224 && first < 240) return refuse('IPv4', 'is a multicast address');
  return { usable: true, family: 'IPv4', address: text };
}

function judgeIPv6(text: string): AddressVerdict {
  const groups = inGroups(text);
  if (groups === null || !ipaddr.IPv6.isValid(groups)) return refuse(null, 'is not an IP address');
  const parsed = ipaddr.IPv6.parse(groups);
  const reason = refusedRange(parsed.parts);
  if (reason === null) {
    return { usable: true, family: 'IPv6', address: parsed.toRFC5952String() };
  }
  return refuse(reason === IPV4_MAPPED ? null : 'IPv6', reason);
}

const IPV4_MAPPED = 'is an IPv4-mapped IPv6 address';

function refusedRange(parts: readonly number[]): string | null {
  const [first = 0] = parts;
  const leading = parts.findIndex((part) => part !== 0);
  if (leading === -1) return 'is the unspecified address';
  if (leading === 7 && parts[7] === 1) return 'is a loopback address';
  if (leading === 5 && parts[5] === 0xffff) return IPV4_MAPPED;
  if ((first & 0xffc0) === 0xfe80) return 'is a link-local address';
  if (first >= 0xff00) return 'is a multicast address';
  return null;
}

/**
 * The text with a dotted tail (`64:ff9b::192.0.2.1`) written as two groups, null where the tail is
 * not an IPv4 address. ipaddr.js lets leading zeros pass there and reads `::192.0.2.1` as mapped.
 */
function inGroups(text: string): string | null {
  if (!text.includes('.')) return text;
  const tail = text.lastIndexOf(':') + 1;
  const dotted = text.slice(tail);
  if (!ipaddr.IPv4.isValidFourPartDecimal(dotted)) return null;
  const [a = 0, b = 0, c = 0, d = 0] = ipaddr.IPv4.parse(dotted).octets;
  return `${text.slice(0, tail)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

function refuse(family: IpFamily | null, reason: string): AddressVerdict {
  return { usable: false, family, reason };
}
