import { AsyncLocalStorage } from 'node:async_hooks';
import Stripe from 'stripe';
import { failed, readStripeError, serverError } from './read-stripe-error';
import { stripeFetch } from './stripe-fetch';
import { type ResolvedStripeMerchant, type ResolvedStripeOptions } from './stripe-options';
import { type StripeReply } from './stripe-reply';

/** How stripe-node hands out an answer: the parsed body with the response attached. */
type Response = object & { readonly lastResponse?: { readonly statusCode?: number; readonly headers?: unknown } };

/** The calls of one merchant. Never throws. */
export class StripeConnection {
  private readonly signals = new AsyncLocalStorage<AbortSignal>();
  private readonly stripe: Stripe.Stripe;

  constructor(merchant: ResolvedStripeMerchant, { baseUrl, timeoutMs }: ResolvedStripeOptions) {
    const { secretKey, stripeAccount } = merchant;
    this.stripe = new Stripe(secretKey, {
      // Repetitions are the engine's business: it knows the deadline and counts them.
      maxNetworkRetries: 0,
      timeout: timeoutMs,
      telemetry: false,
      // fetch rather than node:http, after whose closed connections stripe-node sends once more in spite of 0 retries.
      httpClient: Stripe.createFetchHttpClient(stripeFetch(baseUrl, this.signals)),
      ...(stripeAccount === undefined ? {} : { stripeAccount }),
    });
  }

  /** One call of Stripe's API, which ends with `signal`. */
  async call(signal: AbortSignal, ask: (stripe: Stripe.Stripe) => Promise<Response>): Promise<StripeReply> {
    if (signal.aborted) return gaveUp();
    try {
      return readResponse(await this.signals.run(signal, () => ask(this.stripe)));
    } catch (error) {
      return signal.aborted ? gaveUp() : readStripeError(error);
    }
  }
}

/** stripe-node takes every JSON without `error` for a success, whatever its status. */
function readResponse(response: Response): StripeReply {
  const { lastResponse, ...body } = response;
  const status = lastResponse?.statusCode ?? 0;
  if (status === 200) return { type: 'ANSWERED', body };
  if (status >= 500) return serverError(status, headersOf(lastResponse?.headers));
  return failed({ type: 'UNKNOWN', reason: `Stripe answered with status ${status}, but neither result nor error` });
}

function headersOf(headers: unknown): Record<string, unknown> {
  return headers instanceof Headers ? Object.fromEntries(headers) : {};
}

function gaveUp(): StripeReply {
  return failed({ type: 'UNKNOWN', reason: 'gave up waiting for the answer of Stripe' });
}
