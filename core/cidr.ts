import ipaddr from 'ipaddr.js';
import type { IpFamily } from './records.ts';

/** A range of addresses. */
export interface Cidr {
  /** As it is written: `10.0.0.0/8`. */
  readonly text: string;
  readonly family: IpFamily;
  /** The first address of the range, 4 or 16 bytes. */
  readonly bytes: readonly number[];
  /** Length of the prefix in bits. */
  readonly bits: number;
}

/**
 * Reads a range such as `10.0.0.0/8` or `fd00::/8`; null where the text is none. An address with bits
 * after the prefix (`10.1.0.0/8`) is none: its author meant another range than the text says.
 */
export function parseCidr(text: string): Cidr | null {
  const match = /^([0-9a-f.:]{2,45})\/(\d{1,3})$/i.exec(text);
  const [, address = '', length = ''] = match ?? [];
  const dotted = ipaddr.IPv4.isValidFourPartDecimal(address);
  if (!dotted && !ipaddr.IPv6.isValid(address)) return null;
  const bytes = ipaddr.parse(address).toByteArray();
  const bits = Number(length);
  if (bits > bytes.length * 8 || !bytes.every((byte, at) => byte === masked(byte, at, bits))) {
    return null;
  }
  return { text, family: dotted ? 'IPv4' : 'IPv6', bytes, bits };
}

/** Whether a valid address, of either family, is in a range. */
export function isWithin(address: string, range: Cidr): boolean {
  if (address.includes(':') !== (range.family === 'IPv6')) return false;
  const bytes = ipaddr.parse(address).toByteArray();
  return range.bytes.every((byte, at) => byte === masked(bytes[at] ?? 0, at, range.bits));
}

/** What a prefix leaves of the byte at a place. */
function masked(byte: number, at: number, bits: number): number {
  const kept = Math.min(8, Math.max(0, bits - at * 8));
  return byte & (0xff << (8 - kept)) & 0xff;
}
