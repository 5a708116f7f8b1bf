import { BlockList, isIP } from 'node:net';

/** Where no webhook may go: metadata services of clouds, other machines of the link, groups, and nothing. */
const NEVER = listOf(
  ['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
  ['::/128', '64:ff9b::/96', '2002::/16', 'fe80::/10', 'ff00::/8'],
);

/** Networks of one's own. */
const PRIVATE = listOf(
  ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['::1/128', 'fc00::/7'],
);

/**
 * Whether a webhook may be sent to this address. An IPv4 address that is mapped into IPv6 counts as IPv4.
 *
 * @param allowPrivate includes private networks and loopback, but never link-local or multicast addresses.
 */
export function mayReach(address: string, allowPrivate: boolean): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(address) === 0 || NEVER.check(address, family)) return false;
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
