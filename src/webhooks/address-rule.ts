import { BlockList, isIP } from 'node:net';

/**
 * Every IPv6 address that is one of a machine: public, IPv4 in the notation of IPv6, loopback, and unique local. The others
 * are reserved, or stand for an IPv4 address that a router or the kernel reaches, such as ::127.0.0.1 and 64:ff9b:1::/48.
 */
const IPV6 = listOf([], ['2000::/3', '::ffff:0:0/96', '::1/128', 'fc00::/7']);

/** Where no webhook may go: other machines of the link, groups, nothing, and tunnels to IPv4 (Teredo, 6to4). */
const NEVER = listOf(
  ['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '192.88.99.0/24', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
  ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
);

/** Metadata services of clouds that are not link-local: Alibaba and Azure; AWS, Google, Oracle, and Scaleway. */
const METADATA = listOf(
  ['100.100.100.200/32', '168.63.129.16/32'],
  ['fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128', 'fd00:42::42/128'],
);

/** Networks of one's own. */
const PRIVATE = listOf(
  ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['::1/128', 'fc00::/7'],
);

/**
 * Whether a webhook may be sent to this address. An IPv4 address that is mapped into IPv6 counts as IPv4.
 *
 * @param allowPrivate includes private networks and loopback, but never link-local addresses, multicast, and metadata services.
 */
export function mayReach(address: string, allowPrivate: boolean): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(address) === 0 || (family === 'ipv6' && !IPV6.check(address, family))) return false;
  if (NEVER.check(address, family) || METADATA.check(address, family)) return false;
  return allowPrivate || !PRIVATE.check(address, family);
}

function listOf(ipv4: readonly string[], ipv6: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of ipv4) list.addSubnet(...partsOf(network), 'ipv4');
  for (const network of ipv6) list.addSubnet(...partsOf(network), 'ipv6');
  return list;
}

function partsOf(network: string): [string, number] {
  const [address = '', bits] = network.split('/');
  return [address, Number(bits)];
}
