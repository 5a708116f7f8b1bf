import { AsyncLocalStorage } from 'node:async_hooks';
import Stripe from 'stripe';
import { failed, readStripeError, serverError } from './read-stripe-error';
import { stripeFetch } from './stripe-fetch';
import { type ResolvedStripeMerchant, type ResolvedStripeOptions } from './stripe-options';
import { type StripeReply } from './stripe-reply';

/** stripe-node returns the parsed body with the response attached. */
type Response = object & { readonly lastResponse?: { readonly statusCode?: number; readonly headers?: unknown } };

/** Calls Stripe's API for one merchant. Never throws. */
export class StripeConnection {
  private readonly signals = new AsyncLocalStorage<AbortSignal>();
  private readonly stripe: Stripe.Stripe;

  constructor(merchant: ResolvedStripeMerchant, { baseUrl, timeoutMs }: ResolvedStripeOptions) {
    const { secretKey, stripeAccount } = merchant;
    this.stripe = new Stripe(secretKey, {
      // The engine retries, because it knows the deadline and counts the tries.
      maxNetworkRetries: 0,
      timeout: timeoutMs,
      telemetry: false,
      // Not node:http: stripe-node then sends again after a closed connection, in spite of 0 retries.
      httpClient: Stripe.createFetchHttpClient(stripeFetch(baseUrl, this.signals)),
      ...(stripeAccount === undefined ? {} : { stripeAccount }),
    });
  }

  /** Makes one call, which ends when `signal` aborts. */
  async call(signal: AbortSignal, ask: (stripe: Stripe.Stripe) => Promise<Response>): Promise<StripeReply> {
    if (signal.aborted) return gaveUp();
    try {
      return readResponse(await this.signals.run(signal, () => ask(this.stripe)));
    } catch (error) {
      return signal.aborted ? gaveUp() : readStripeError(error);
    }
  }
}

/** stripe-node treats every JSON body without `error` as a success, whatever the HTTP status is. */
function readResponse(response: Response): StripeReply {
  const { lastResponse, ...body } = response;
  const status = lastResponse?.statusCode ?? 0;
  if (status === 200) return { type: 'ANSWERED', body };
  if (status >= 500) return serverError(status, headersOf(lastResponse?.headers));
  return failed({ type: 'UNKNOWN', reason: `Stripe answered with status ${status} and neither a result nor an error` });
}

function headersOf(headers: unknown): Record<string, unknown> {
  return headers instanceof Headers ? Object.fromEntries(headers) : {};
}

function gaveUp(): StripeReply {
  return failed({ type: 'UNKNOWN', reason: 'gave up waiting for an answer from Stripe' });
}
