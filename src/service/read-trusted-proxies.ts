import { isIP } from 'node:net';
import { z } from 'zod';

/** The number of proxies in front of the service, or their addresses, as Express's `trust proxy` takes them. */
export type TrustedProxies = number | readonly string[];

const NAMES = ['loopback', 'linklocal', 'uniquelocal'];
const WANTED =
  'must be the number of proxies in front of the service (1 to 99), or their addresses, comma-separated: IP addresses, ' +
  `networks such as 10.0.0.0/8, ${NAMES.join(', ')}`;

/** Parses "2" or "loopback, 10.0.0.0/8". For `z.transform`. */
export function readTrustedProxies(text: string, context: z.RefinementCtx): TrustedProxies {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  const proxies = text.split(',').map((part) => part.trim());
  if (proxies.every(isProxy)) return proxies;
  const isBoolean = text.trim().toLowerCase() === 'true';
  const why = isBoolean ? '; "true" would trust every address that a client claims' : '';
  context.addIssue({ code: 'custom', message: `${WANTED}${why}` });
  return z.NEVER;
}

function isProxy(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (NAMES.includes(text)) return true;
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  // A network of zero bits would be every address.
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}
