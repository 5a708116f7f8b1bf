import { z } from 'zod';
import { type CloseOutcome, type QueryOutcome, type RefundOutcome, type UnknownOutcome } from '../payment-outcome';
import { type VerifiedAnswer } from './verify-answer';

const paid = z.object({
  status: z.literal('PAID'),
  /** Minor units as digits; 18 digits fit into PostgreSQL's bigint. */
  amount: z.string().regex(/^[1-9]\d{0,17}$/),
  currency: z.string().regex(/^[A-Z]{3}$/),
  paidAt: z.iso.datetime(),
  transactionId: z.string().min(1).max(128),
});
const notFound = z.object({ status: z.literal('NOT_FOUND') });

/** The pairs of HTTP status and body that are recognized. Everything else is UNKNOWN. */
const queryAnswers = {
  200: z.discriminatedUnion('status', [
    z.object({ status: z.enum(['OPEN', 'PROCESSING', 'AUTHORIZED', 'CLOSED', 'REFUNDED']) }),
    paid,
  ]),
  404: notFound,
};
const closeAnswers = {
  200: z.object({ status: z.enum(['CLOSED', 'ALREADY_CLOSED']) }),
  409: z.object({ status: z.enum(['PAID', 'IN_PROGRESS']) }),
  404: notFound,
};
const refundAnswers = {
  200: z.discriminatedUnion('status', [
    z.object({ status: z.literal('REFUNDED'), refundId: z.string().min(1).max(128) }),
    z.object({ status: z.literal('PENDING') }),
  ]),
  409: z.object({ status: z.literal('REJECTED'), reason: z.string().min(1).max(256) }),
  404: notFound,
};

/** Maps a verified answer to a query. */
export function toQueryOutcome(answer: VerifiedAnswer): QueryOutcome {
  const body = recognise(queryAnswers, answer);
  if (!body) return unrecognised(answer);
  if (body.status === 'NOT_FOUND') return { type: 'NOT_FOUND', providerNow: answer.now, evidence: answer.evidence };
  if (body.status !== 'PAID') return { type: body.status, evidence: answer.evidence };
  const { amount, currency, paidAt, transactionId } = body;
  return {
    type: 'PAID',
    amount: BigInt(amount),
    currency,
    paidAt: new Date(paidAt),
    transactionId,
    evidence: answer.evidence,
  };
}

/** Maps a verified answer to a close. */
export function toCloseOutcome(answer: VerifiedAnswer): CloseOutcome {
  const body = recognise(closeAnswers, answer);
  if (!body) return unrecognised(answer);
  if (body.status === 'NOT_FOUND') return { type: 'NOT_FOUND', providerNow: answer.now, evidence: answer.evidence };
  return { type: body.status, evidence: answer.evidence };
}

/** Maps a verified answer to a refund. */
export function toRefundOutcome(answer: VerifiedAnswer): RefundOutcome {
  const body = recognise(refundAnswers, answer);
  if (!body) return unrecognised(answer);
  const { evidence } = answer;
  switch (body.status) {
    case 'REFUNDED':
      return { type: 'REFUNDED', refundId: body.refundId, evidence };
    case 'PENDING':
      return { type: 'PENDING', evidence };
    case 'REJECTED':
      return { type: 'REJECTED', reason: body.reason, evidence };
    case 'NOT_FOUND':
      return { type: 'REJECTED', reason: 'the provider has no such payment', evidence };
  }
}

function recognise<S extends z.ZodType>(
  table: Readonly<Record<number, S>>,
  answer: VerifiedAnswer,
): z.output<S> | undefined {
  return table[answer.httpStatus]?.safeParse(answer.body).data;
}

function unrecognised({ httpStatus, body, evidence }: VerifiedAnswer): UnknownOutcome {
  const reason = `answer is not recognized: HTTP status ${httpStatus}, payment status ${JSON.stringify(body.status)}`;
  return { type: 'UNKNOWN', reason, evidence };
}
