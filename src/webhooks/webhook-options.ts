import { z } from 'zod';
import { type OrderEventType, ORDER_EVENT_TYPES } from '../orders';
import { integer, optionsOf, parseOptions } from '../errors';

/** Signed webhooks about orders, as Standard Webhooks describes them. */
export interface WebhookOptions {
  /** Where to send events. An empty list sends none. */
  readonly endpoints: readonly WebhookEndpoint[];
  /** How long an endpoint may take to answer, milliseconds, 1000 to 60000. @default 15000 */
  readonly timeoutMs?: number;
  /**
   * Waits after the first, second, … failed attempt, milliseconds. After the last one the delivery is parked.
   * @default 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h
   */
  readonly retryDelaysMs?: readonly number[];
}

/** One receiver of webhooks. */
export interface WebhookEndpoint {
  /** Stable name; what is undelivered belongs to it. Letters, digits, `.`, `_`, `-`; at most 64. */
  readonly name: string;
  /** An `https:` URL. `http:` needs `allowPrivateNetwork`. */
  readonly url: string;
  /** `whsec_` and 24 to 64 bytes in base64. Each signs, so that the receiver can change from one to the next. */
  readonly secrets: readonly string[];
  /** The types of events to send. @default all order events */
  readonly events?: readonly OrderEventType[];
  /** Requests at once in this process. The sweep may add half as many. @default 10 */
  readonly concurrency?: number;
  /** Whether the URL may lead to a private or loopback address. @default false */
  readonly allowPrivateNetwork?: boolean;
}

const SECOND_MS = 1_000;

const MINUTE_MS = 60 * SECOND_MS;

const HOUR_MS = 60 * MINUTE_MS;

/** The schedule that Standard Webhooks gives as an example: ten attempts in three days. */
const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];

const LONGEST_DELAY_MS = 30 * 24 * HOUR_MS;

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** The message must not contain the secret. */
export const webhookSecret = z
  .string('must be a text')
  .refine(isSecret, 'must be "whsec_" and 24 to 64 random bytes in base64, for example from: openssl rand -base64 32');

const endpoint = optionsOf({
  name: z
    .string('must be a text')
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"'),
  url: z.url({ protocol: /^https?$/, error: 'must be an https:// URL' }).transform((text) => new URL(text)),
  secrets: z.array(webhookSecret, 'must be a list of secrets').min(1, 'must name at least one secret'),
  events: z
    .array(z.enum(ORDER_EVENT_TYPES, `must be some of ${ORDER_EVENT_TYPES.join(', ')}`))
    .default([...ORDER_EVENT_TYPES]),
  concurrency: integer(1, 1_000).default(10),
  allowPrivateNetwork: z.boolean('must be true or false').default(false),
})
  .refine(({ url, allowPrivateNetwork }) => url.protocol === 'https:' || allowPrivateNetwork, {
    path: ['url'],
    error: 'must be an https:// URL; http:// needs allowPrivateNetwork: true',
  })
  .refine(({ url }) => url.username === '' && url.password === '', {
    path: ['url'],
    error: 'must not contain a user or a password',
  });

export const webhookOptions = optionsOf({
  endpoints: z.array(endpoint, 'must be a list of endpoints').superRefine(refuseSameNames),
  timeoutMs: integer(SECOND_MS, MINUTE_MS, ' milliseconds').default(15_000),
  retryDelaysMs: z
    .array(integer(0, LONGEST_DELAY_MS, ' milliseconds'), 'must be a list of milliseconds')
    .min(1, 'must have at least one entry')
    .default(RETRY_DELAYS_MS),
} satisfies Record<keyof WebhookOptions, z.ZodType>);

export type ResolvedWebhookOptions = Readonly<z.output<typeof webhookOptions>>;

export type ResolvedEndpoint = Readonly<z.output<typeof endpoint>>;

/** @throws InvalidOptionsError with every problem, without secrets and URLs. */
export function resolveWebhookOptions(options: WebhookOptions): ResolvedWebhookOptions {
  return Object.freeze(parseOptions('webhooks', webhookOptions, options));
}

function isSecret(text: string): boolean {
  const [, encoded] = SECRET.exec(text) ?? [];
  if (encoded === undefined || encoded.length % 4 !== 0) return false;
  const { length } = Buffer.from(encoded, 'base64');
  return length >= 24 && length <= 64;
}

function refuseSameNames(endpoints: readonly { readonly name: string }[], context: z.RefinementCtx): void {
  const names = new Set<string>();
  for (const { name } of endpoints) {
    if (names.has(name))
      context.addIssue({ code: 'custom', message: `must have distinct names ("${name}" is repeated)` });
    names.add(name);
  }
}
