import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type LookupFunction, isIP } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { mayReach } from './address-rule';
import { guardedLookup } from './guarded-lookup';
import { type ResolvedEndpoint } from './resolve-webhook-options';
import { WebhookAddressRefusedError } from './webhook-address-refused-error';

/** What of an answer counts. Its body is not read. */
export interface WebhookResponse {
  readonly status: number;
  /** The header of that name. */
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

  constructor(private readonly endpoint: Pick<ResolvedEndpoint, 'url' | 'allowPrivateNetwork'>) {
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
        return await answerTo(request, body);
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

  /** An address in the URL itself is not looked up. */
  private refuseAddress(): void {
    const { url, allowPrivateNetwork } = this.endpoint;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !mayReach(host, allowPrivateNetwork)) throw new WebhookAddressRefusedError(host, host);
  }
}

function answerTo(request: ClientRequest, body: string): Promise<WebhookResponse> {
  return new Promise((resolve, reject) => {
    request.on('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      // The status counts even if the rest of the answer never comes.
      resolve({ status, retryAfter: headers['retry-after'] });
      drain(response);
    });
    request.on('error', reject);
    // An unrequested protocol upgrade closes the connection without a response or an error.
    request.on('close', () => reject(new Error('the connection was closed without an answer')));
    request.end(body);
  });
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
