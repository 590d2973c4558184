/** Which addresses are on the internet, and which lead to this machine, its network or a cloud's own services. Pure. */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

const CLOSED_IPV4 = [
  ['0.0.0.0', 8, 'this machine'],
  ['127.0.0.0', 8, 'this machine'],
  ['10.0.0.0', 8, 'a private network'],
  ['172.16.0.0', 12, 'a private network'],
  ['192.168.0.0', 16, 'a private network'],
  ['100.64.0.0', 10, "a provider's inner network"],
  ['169.254.0.0', 16, 'the local link, where clouds keep their metadata'],
  ['168.63.129.16', 32, "a cloud's own service"],
  ['192.0.0.0', 24, 'a reserved range'],
  ['192.0.2.0', 24, 'a reserved range'],
  ['192.88.99.0', 24, 'a reserved range'],
  ['198.18.0.0', 15, 'a reserved range'],
  ['198.51.100.0', 24, 'a reserved range'],
  ['203.0.113.0', 24, 'a reserved range'],
  ['224.0.0.0', 4, 'a multicast range'],
  ['240.0.0.0', 4, 'a reserved range'],
] as const;

/** Of what 2000::/3 holds; nothing else is on the internet at all. Teredo and 6to4 carry an address of the other kind. */
const CLOSED_IPV6 = [
  ['2001::', 23, 'a reserved range'],
  ['2001:db8::', 32, 'a reserved range'],
  ['2002::', 16, 'a reserved range'],
  ['3fff::', 20, 'a reserved range'],
] as const;

const ipv4Ranges = CLOSED_IPV4.map(([network, bits, what]) => ({ list: subnet(network, bits, 'ipv4'), what }));
const ipv6Ranges = CLOSED_IPV6.map(([network, bits, what]) => ({ list: subnet(network, bits, 'ipv6'), what }));
const onTheInternet = subnet('2000::', 3, 'ipv6');
/** Both hold an IPv4 address in their last 32 bits: mapped ones, and those of a NAT64 gateway. */
const carriers = [subnet('::ffff:0:0', 96, 'ipv6'), subnet('64:ff9b::', 96, 'ipv6')];

/** What an address belongs to that is not the internet, in words; undefined for one that is on it. */
export function closedRange(address: string): string | undefined {
  if (isIPv4(address)) return ipv4Ranges.find(({ list }) => list.check(address, 'ipv4'))?.what;
  if (!isIPv6(address)) return 'no address';
  if (carriers.some((list) => list.check(address, 'ipv6'))) return closedRange(lastFourBytes(address));
  if (onTheInternet.check(address, 'ipv6')) return ipv6Ranges.find(({ list }) => list.check(address, 'ipv6'))?.what;
  return 'this machine or its own network';
}

function subnet(network: string, bits: number, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  list.addSubnet(network, bits, family);
  return list;
}

/** The IPv4 address at the end of an IPv6 one, in whichever way that is written. */
function lastFourBytes(address: string): string {
  const dotted = /[^:]+\.[^:]+$/.exec(address)?.[0];
  if (dotted !== undefined) return dotted;
  // As a URL writes it there are no dots, and zeros are only left out before the last two groups or all at the end.
  const [high = '0', low = '0'] = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2);
  const value = Number.parseInt(high || '0', 16) * 65_536 + Number.parseInt(low || '0', 16);
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}
