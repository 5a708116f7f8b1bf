import { isIPv6 } from 'node:net';
import { type ApiRequest } from './api-request';

/**
 * The origin of a request: its IPv4 address, or its IPv6 /64 network, because one machine has at least a /64. Uses
 * `request.ip`, so headers are trusted only as far as the host's `trust proxy` allows.
 */
export function remoteNetworkOf({ ip, socket }: ApiRequest): string {
  const address = withoutPort(ip ?? socket?.remoteAddress ?? 'unknown');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  return isIPv6(address) ? networkOf(address) : address;
}

/** Some proxies append the port of the client, which differs for each connection. */
function withoutPort(address: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
}

/** The first four of eight groups, with `::` written out. */
function networkOf(address: string): string {
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0');
  const all = tail === undefined ? groups : [...groups, ...zeros, ...rest];
  return `${all
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
