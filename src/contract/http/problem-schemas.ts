import { z } from 'zod';
import { type ProblemCode, PROBLEMS } from '../../api/http';
import { type OpenItem } from '../../orders';
import { describes } from '../schema/describes';
import { instant } from '../schema/instant';
import { money } from '../schema/money';
import { orderStatus } from './answers/order-answer';
import { unmatchedHandling, unmatchedReason } from './answers/unmatched-payment-answer';

const openItem = describes<OpenItem>()(
  z.enum(['timeout', 'refund', 'attempt', 'unmatched-money', 'reservation', 'event']),
);
const ofOrder = { orderStatus };

/** Further members of problems. */
const MEMBERS: Partial<Record<ProblemCode, z.ZodRawShape>> = {
  VALIDATION_FAILED: { errors: z.array(z.object({ path: z.string(), message: z.string() })).describe('At most 50') },
  OUT_OF_STOCK: { shortages: z.array(z.object({ sku: z.string(), wanted: z.int(), available: z.int() })) },
  UNKNOWN_SKU: { skus: z.array(z.string()) },
  PAYMENT_WINDOW_OUT_OF_RANGE: { minMs: z.int(), maxMs: z.int() },
  TOO_MANY_ATTEMPTS: { limit: z.int() },
  PROVIDER_NOT_CONFIGURED: { provider: z.string() },
  MERCHANT_ACCOUNT_NOT_CONFIGURED: { provider: z.string(), merchantAccount: z.string().nullable() },
  ORDER_NOT_CANCELLABLE: ofOrder,
  ORDER_NOT_FINISHED: ofOrder,
  ORDER_NOT_REVIVABLE: ofOrder,
  ORDER_NOT_CLOSABLE: ofOrder,
  PAYMENT_NEEDED: ofOrder,
  ORDER_HAS_OPEN_ITEMS: { open: z.array(openItem) },
  ORDER_HAS_MONEY: { payments: z.array(z.object({ provider: z.string(), reference: z.string() })) },
  DEADLINE_OUT_OF_RANGE: { latest: instant },
  UNMATCHED_PAYMENT_HANDLED: { handling: unmatchedHandling },
  UNMATCHED_PAYMENT_HAS_ORDER: { reason: unmatchedReason },
  PAYMENT_DISPUTED: { paidAmount: money, paidCurrency: z.string() },
  PAYMENT_NOT_BOOKABLE: { amount: money, currency: z.string() },
  PAYMENT_NOT_CONFIRMED: { says: z.string().describe('What the provider says') },
  STOCK_BELOW_RESERVED: { reserved: z.int() },
  STOCK_CHANGED: { onHand: z.int(), reserved: z.int(), available: z.int() },
  STOCK_TOO_LARGE: { max: z.int() },
};

const requestId = z.string().describe('Find it in the log');

function problemSchema(code: ProblemCode): z.ZodType {
  const { status, title } = PROBLEMS[code];
  return z
    .object({
      type: z.literal(`urn:order-timeout:problem:${code}`),
      title: z.string(),
      status: z.literal(status),
      code: z.literal(code),
      detail: z.string().describe('A sentence with the values, and what to do'),
      ...MEMBERS[code],
      ...(status >= 500 ? { requestId } : {}),
    })
    .describe(title);
}

/** Name of a problem's schema: `OUT_OF_STOCK` is OutOfStockProblem. */
export function problemName(code: ProblemCode): string {
  const words = code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return `${words}Problem`;
}

/** Every problem of the API by name, and `Problem` for those of a proxy or of a host's own guards. */
export function problemSchemas(): Readonly<Record<string, z.ZodType>> {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  const anyProblem = z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.int(),
      code: z.string(),
      detail: z.string(),
      requestId: requestId.exactOptional(),
    })
    .describe('A problem (RFC 9457)');
  return { ...Object.fromEntries(codes.map((code) => [problemName(code), problemSchema(code)])), Problem: anyProblem };
}
