// Addresses that no page may be fetched from: this machine, its networks, and everything that is not on the public Internet. An IPv6
// address from a range that embeds IPv4 addresses is never public.
import { BlockList, isIPv4, isIPv6 } from 'node:net';

const blocked = new BlockList();
const v4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
for (const [net, prefix] of v4) blocked.addSubnet(net, prefix, 'ipv4');

/** Only global unicast is public, minus reserved ranges and ranges that embed another address. */
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');
const v6: readonly (readonly [string, number])[] = [
  // Teredo, benchmarks, ORCHID, documentation, 6to4
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];
for (const [net, prefix] of v6) blocked.addSubnet(net, prefix, 'ipv6');

const mapped = new BlockList();
mapped.addSubnet('::ffff:0:0', 96, 'ipv6');

/** True for any address that is not public, and for anything that is not an address. */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  if (isIPv4(bare)) return blocked.check(bare, 'ipv4');
  if (!isIPv6(bare)) return true;
  // an IPv4-mapped IPv6 address reaches the same machine; no public web site needs one
  return mapped.check(bare, 'ipv6') || !global.check(bare, 'ipv6') || blocked.check(bare, 'ipv6');
}
