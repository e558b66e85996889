import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { judgeAddress } from '../../../core/ip.ts';

interface Case {
  readonly text: string;
  /** Whether the API server takes it as it is for an IPv4 slice. */
  readonly ipv4: boolean;
  /** What the API server takes it as for an IPv6 slice once printed canonically; '' when never. */
  readonly ipv6: string;
}

/**
 * What the validation of Kubernetes 1.36 itself said: the output of a Go program that calls
 * IsValidIPForLegacyField, IsValidIP (k8s.io/apimachinery 0.36.1, strict) and the checks of
 * ValidateEndpointIP on a list of awkward texts and on random ones.
 */
const CASES: readonly Case[] = JSON.parse(
  readFileSync(new URL('./support/ip-cases.json', import.meta.url), 'utf8'),
);

function isMulticast(text: string): boolean {
  const first = Number.parseInt(text, 10);
  return text.includes(':') ? /^ff/i.test(text) : first >= 224 && first < 240;
}

describe('judging an address', () => {
  it('takes what kube-apiserver takes, in its canonical text, and refuses the rest (D1)', () => {
    const wrong = CASES.filter(({ text, ipv4, ipv6 }) => {
      const verdict = judgeAddress(text);
      const expected = isMulticast(text) ? '' : ipv4 ? text : ipv6;
      return (verdict.usable ? verdict.address : '') !== expected;
    });
    expect(wrong).toEqual([]);
    expect(CASES.length).toBeGreaterThan(200);
  });

  it.each([
    ['10.20.0.1', 'IPv4', '10.20.0.1'],
    ['0.1.2.3', 'IPv4', '0.1.2.3'],
    ['255.255.255.255', 'IPv4', '255.255.255.255'],
    ['FD00:20:0:0:0:0:0:A1', 'IPv6', 'fd00:20::a1'],
    ['2001:db8:0:1:0:0:0:1', 'IPv6', '2001:db8:0:1::1'],
    ['2001:0:0:1:0:0:0:1', 'IPv6', '2001:0:0:1::1'],
    ['2001:db8:0:1:1:1:1:1', 'IPv6', '2001:db8:0:1:1:1:1:1'],
    ['64:ff9b::192.0.2.1', 'IPv6', '64:ff9b::c000:201'],
    ['::192.0.2.1', 'IPv6', '::c000:201'],
  ])('reads %s as %s %s (D1)', (text, family, address) => {
    expect(judgeAddress(text)).toEqual({ usable: true, family, address });
  });

  it.each([
    ['not-an-ip', null, 'is not an IP address'],
    ['', null, 'is not an IP address'],
    ['10.1', null, 'is not an IP address'],
    ['0x0a.0.0.1', null, 'is not an IP address'],
    ['1'.repeat(10_000), null, 'is not an IP address'],
    ['10.0.0.1/32', null, 'is not an IP address'],
    ['010.0.0.1', null, 'has leading zeros'],
    ['10.0.0.01', null, 'has leading zeros'],
    ['fe80::1%eth0', null, 'carries a zone id, which means nothing elsewhere'],
    ['::ffff:192.0.2.1', null, 'is an IPv4-mapped IPv6 address'],
    ['::ffff:c000:201', null, 'is an IPv4-mapped IPv6 address'],
    ['0.0.0.0', 'IPv4', 'is the unspecified address'],
    ['::', 'IPv6', 'is the unspecified address'],
    ['127.8.8.8', 'IPv4', 'is a loopback address'],
    ['::1', 'IPv6', 'is a loopback address'],
    ['169.254.10.5', 'IPv4', 'is a link-local address'],
    ['febf::1', 'IPv6', 'is a link-local address'],
    ['224.0.0.1', 'IPv4', 'is a multicast address'],
    ['239.1.1.1', 'IPv4', 'is a multicast address'],
    ['ff02::1', 'IPv6', 'is a multicast address'],
    ['ff0e::1', 'IPv6', 'is a multicast address'],
  ])('refuses %s (D1)', (text, family, reason) => {
    expect(judgeAddress(text)).toEqual({ usable: false, family, reason });
  });

  it('answers the same after it has forgotten what it knew', () => {
    const before = judgeAddress('FD00::A');
    for (let number = 0; number < 40_000; number += 1) judgeAddress(`no-${number}`);
    expect(judgeAddress('FD00::A')).toEqual(before);
  });
});
