import { expect, test } from '@jest/globals';
import { hostAllowed, refuseLocalAddresses } from '../../../platform/kube/cluster-addresses.ts';

test.each([
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['::1', 'loopback'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['::ffff:0:127.0.0.1', 'loopback'],
  ['::127.0.0.1', 'loopback'],
  ['64:ff9b::7f00:1', 'loopback'],
  ['2002:7f00:1::1', 'loopback'],
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'unspecified'],
  ['::', 'unspecified'],
  ['::ffff:0.0.0.0', 'unspecified'],
  ['169.254.169.254', 'link-local'],
  ['::ffff:169.254.169.254', 'link-local'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local'],
  ['febf::1', 'link-local'],
  ['224.0.0.1', 'multicast'],
  ['ff02::1', 'multicast'],
  ['255.255.255.255', 'broadcast'],
])('%s is refused: %s', (address, word) => {
  expect(refuseLocalAddresses(address)).toMatch(new RegExp(`^(a|the) ${word} address`));
});

test.each([
  '10.0.0.1',
  '192.168.1.1',
  '172.16.0.1',
  '8.8.8.8',
  '128.0.0.1',
  '2001:db8::1',
  'fd00::1',
  '::ffff:10.0.0.1',
  '64:ff9b::a00:1',
  '2002:a00:1::1',
  'fec0::1',
])('%s is not', (address) => {
  expect(refuseLocalAddresses(address)).toBeUndefined();
});

test('an empty list allows every host', () => {
  expect(hostAllowed('anything.example', [])).toBe(true);
});
