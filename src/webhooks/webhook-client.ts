import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type LookupFunction, isIP, BlockList } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { lookup } from 'node:dns';
import { type Clock } from '../clock';
import { CodedError } from '../errors';
import { type ResolvedEndpoint } from './webhook-options';

/** What of an answer counts. Its body is not read. */
export interface WebhookResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** More than a receiver has to say. The rest is not downloaded. */
const MAX_ANSWER_BYTES = 65_536;

/** For the rest of an answer. A new connection costs less than one that a receiver never lets go. */
const MAX_DRAIN_MS = 1_000;

/** Sends requests to one endpoint, over connections of its own that are kept open. */
export class WebhookClient {
  private readonly agent: HttpAgent;
  private readonly lookup: LookupFunction;

  /** @param timeoutMs how long a receiver may take to answer */
  constructor(
    private readonly endpoint: Pick<ResolvedEndpoint, 'url' | 'allowPrivateNetwork'>,
    private readonly timeoutMs: number,
    private readonly clock: Clock,
  ) {
    const options = { keepAlive: true, scheduling: 'lifo' } as const;
    this.agent = endpoint.url.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
    this.lookup = guardedLookup(endpoint.allowPrivateNetwork);
  }

  /** Closes idle connections. */
  close(): void {
    this.agent.destroy();
  }

  /**
   * Redirects are not followed. If the receiver closes a kept connection just as it is used, the request is sent again.
   *
   * @throws WebhookAddressRefusedError, or the error of the network
   */
  async post(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WebhookResponse> {
    this.refuseAddress();
    for (;;) {
      const request = this.request(headers, signal);
      try {
        return await this.answerTo(request, body);
      } catch (error) {
        const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
        if (!isStale || signal.aborted) throw error;
      }
    }
  }

  private request(headers: Readonly<Record<string, string>>, signal: AbortSignal): ClientRequest {
    const { agent, lookup, endpoint } = this;
    const send = endpoint.url.protocol === 'https:' ? httpsRequest : httpRequest;
    return send(endpoint.url, { method: 'POST', headers, agent, lookup, signal });
  }

  private answerTo(request: ClientRequest, body: string): Promise<WebhookResponse> {
    const { clock, timeoutMs } = this;
    return new Promise((resolve, reject) => {
      const late = clock.after(timeoutMs, () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)));
      request.on('response', (response) => {
        late.cancel();
        const { statusCode: status = 0, headers } = response;
        // The status counts even if the rest of the answer never comes.
        resolve({ status, retryAfter: headers['retry-after'] });
        drain(response);
      });
      request.on('error', reject);
      // An unrequested protocol upgrade closes the connection without a response or an error.
      request.on('close', () => {
        late.cancel();
        reject(new Error('the connection was closed without an answer'));
      });
      request.end(body);
    });
  }

  /** An address in the URL itself is not looked up. */
  private refuseAddress(): void {
    const { url, allowPrivateNetwork } = this.endpoint;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !mayReach(host, allowPrivateNetwork)) throw new WebhookAddressRefusedError(host, host);
  }
}

/** Lets the connection be used again. */
function drain(response: IncomingMessage): void {
  let bytes = 0;
  response.on('data', (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) response.destroy();
  });
  response.on('error', () => undefined);
  addAbortSignal(AbortSignal.timeout(MAX_DRAIN_MS), response);
}

/**
 * A DNS look-up that fails if one of the addresses may not be reached. The connection uses these very addresses, so a
 * name that changes between check and use gains nothing.
 */
function guardedLookup(allowPrivate: boolean): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const refused = addresses.find(({ address }) => !mayReach(address, allowPrivate));
      if (refused) return callback(new WebhookAddressRefusedError(host, refused.address), '', 0);
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      callback(null, first?.address ?? '', first?.family);
    });
  };
}

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

/** The host of an endpoint has an address to which no webhook may go. */
class WebhookAddressRefusedError extends CodedError {
  constructor(host: string, address: string) {
    const remedy = mayReach(address, true)
      ? 'which is not public; if it is yours, set allowPrivateNetwork: true'
      : 'to which no webhook may go, such as one of a metadata service; use another address';
    super('WEBHOOK_ADDRESS_REFUSED', `${host} has the address ${address}, ${remedy}`);
  }
}
