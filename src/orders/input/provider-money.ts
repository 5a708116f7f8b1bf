import { z } from 'zod';
import { storableText } from '../../database';
import { LIMITS } from '../model/order-policies';
import { moduleFields, moneyFields, problemsOf, toSentence } from './fields';

/** Money as a provider states it. An adapter may be plain JavaScript, so it is checked like any other input. */
const moneySchema = z.object({
  amount: moduleFields.amount.transform(BigInt),
  currency: moduleFields.currency,
});

/** Odd characters in it do not make it less of a payment. */
const transactionId = z.preprocess(
  (text) => (typeof text === 'string' ? [...storableText(text)].slice(0, LIMITS.transactionId).join('') : text),
  moneyFields.transactionId,
);

const paymentSchema = moneySchema.extend({ paidAt: moneyFields.paidAt, transactionId });

/** Stored instead of an amount that is not money. XXX is the code of ISO 4217 for "no currency". */
const NO_MONEY = { amount: 0n, currency: 'XXX' } as const;

interface Stated {
  readonly amount: bigint;
  readonly currency: string;
}

/** Pure: the payment with its amount as a bigint, or what is wrong with it. */
export function readPayment<P extends Stated>(payment: P): { readonly payment: P } | { readonly problem: string } {
  const { data, error } = paymentSchema.safeParse(payment);
  if (data) return { payment: { ...payment, ...data } };
  return { problem: problemsOf(error).map(toSentence).join('; ') };
}

/** Pure: whether this is an amount of money at all. */
export function isMoney(stated: Stated): boolean {
  return moneySchema.safeParse(stated).success;
}

/** Pure: the money to store for a person. What is not money becomes evidence. */
export function storableMoney<P extends Stated & { readonly evidence: object }>(
  stated: P,
  isValid = isMoney(stated),
): Stated & { readonly evidence: Readonly<Record<string, unknown>> } {
  const { amount, currency, evidence } = stated;
  if (isValid) return { amount: BigInt(amount), currency, evidence: { ...evidence } };
  return { ...NO_MONEY, evidence: { ...evidence, stated: { amount: shown(amount), currency: shown(currency) } } };
}

function shown(value: unknown): string {
  return String(value).slice(0, 40);
}
