import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { AddressRule } from './connect.ts';

/** Names of ipaddr.js' ranges, and what a person is told. */
const REFUSED_RANGES: Readonly<Record<string, string>> = {
  loopback: 'a loopback address',
  linkLocal: 'a link-local address',
  unspecified: 'the unspecified address',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
};

/**
 * What is wrong with an address that reaches this very host, its neighbours on the link (a cloud's
 * metadata server among them) or nobody in particular, an IPv4 address inside of an IPv6 one
 * included; undefined for any other. A text that is no address is judged by its name alone.
 */
export function localAddress(host: string): string | undefined {
  const bare = host.replace(/%.*$/, '');
  if (isIP(bare) === 0) {
    return /(^|\.)localhost$/.test(bare) ? 'this very host' : undefined;
  }
  return embedded(ipaddr.parse(bare))
    .map((ip) => REFUSED_RANGES[rangeOf(ip)])
    .find((range) => range !== undefined);
}

/** The same for each address that a connection is made to, whatever a name resolves to by then. */
export const refuseLocalAddresses: AddressRule = (address) => {
  const range = localAddress(address);
  if (range === undefined) return undefined;
  return `${range}, which a cluster Secret may not lead to unless --clusters-allow-loopback is true`;
};

/** All of 0.0.0.0/8 is this host to somebody. */
function rangeOf(ip: ipaddr.IPv4 | ipaddr.IPv6): string {
  if (ip instanceof ipaddr.IPv4 && ip.octets[0] === 0) return 'unspecified';
  return ip.range();
}

/** Where IPv6 addresses that stand for an IPv4 one have it: prefix in hex, and the byte it begins at. */
const WRAPPERS: readonly (readonly [prefix: string, at: number])[] = [
  // Mapped, and as stateless translators write it (RFC 2765).
  ['00000000000000000000ffff', 12],
  ['0000000000000000ffff0000', 12],
  // "Compatible", long given up, and NAT64.
  ['000000000000000000000000', 12],
  ['0064ff9b0000000000000000', 12],
  // 6to4.
  ['2002', 2],
];

/** The address, and the IPv4 one that a kernel or a gateway would make of it. */
function embedded(ip: ipaddr.IPv4 | ipaddr.IPv6): (ipaddr.IPv4 | ipaddr.IPv6)[] {
  if (ip instanceof ipaddr.IPv4) return [ip];
  const bytes = ip.toByteArray();
  const hex = Buffer.from(bytes).toString('hex');
  const wrapper = WRAPPERS.find(([prefix]) => hex.startsWith(prefix));
  if (wrapper === undefined) return [ip];
  const [, at] = wrapper;
  return [ip, new ipaddr.IPv4(bytes.slice(at, at + 4))];
}

/** Whether a host of a URL, brackets and all, is one of `patterns`: exact, or `*.` and a suffix. */
export function hostAllowed(host: string, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return true;
  const bare = plainHost(host);
  return patterns.some((pattern) =>
    pattern.startsWith('*.') ? bare.endsWith(pattern.slice(1)) : bare === plainHost(pattern),
  );
}

/** Lower case, without brackets and final dot; an address in its canonical text. */
export function plainHost(host: string): string {
  const bare = host.toLowerCase().replace(/^\[|\]$/g, '');
  if (isIP(bare) === 6) return ipaddr.parse(bare).toString();
  return bare.replace(/\.$/, '');
}
