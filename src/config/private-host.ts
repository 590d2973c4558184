/** Tells servers of one's own machine or network, which usually need no key, from those on the internet. */
import { BlockList, isIP } from 'node:net';

/** Loopback, private, link-local and carrier-grade ranges (Tailscale uses the last). */
const PRIVATE_RANGES = [
  ['0.0.0.0', 32, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
] as const;

/** Whether the URL's host is on this machine or network, judged by its name or address alone: nothing is looked up. */
export function isPrivateHost(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  // A name without a dot, such as a compose service, can't be a public one.
  if (family === 0) return !host.includes('.') || /\.(localhost|local|lan|internal|home\.arpa)$/.test(host);
  const ranges = new BlockList();
  for (const [network, prefix, kind] of PRIVATE_RANGES) ranges.addSubnet(network, prefix, kind);
  return ranges.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
