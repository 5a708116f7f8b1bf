import { types } from 'node:util';
import { z } from 'zod';
import { LIMITS } from '../limits';
import { type MinorUnits } from '../place/new-order';
import { fields, MINOR_UNITS, says } from './fields';

const money = (min: number) =>
  z.custom<MinorUnits>(
    (value) => isMinorUnits(value, min),
    says(`an integer or a bigint from ${min} to ${LIMITS.money}, ${MINOR_UNITS}`),
  );

function isMinorUnits(value: unknown, min: number): boolean {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value);
  return isWhole && (value as MinorUnits) >= min && (value as MinorUnits) <= LIMITS.money;
}

const instant = (earliest: Date) =>
  z.custom<Date>(
    (value) => types.isDate(value) && value >= earliest && value <= LIMITS.latest,
    says(`a valid Date in the years ${earliest.getUTCFullYear()} to ${LIMITS.latest.getUTCFullYear()}`),
  );

/** Any text that PostgreSQL can store. */
const storable = (length: number) => {
  const sentence = says(`text of 1 to ${length} characters, without NUL or unpaired surrogates`);
  return z.string(sentence).regex(new RegExp(`^[^\\0\\p{Cs}]{1,${length}}$`, 'u'), sentence);
};

/** The fields of inputs from a caller in the same process: money may be a bigint, and an instant is a Date. */
export const moduleFields = {
  ...fields,
  amount: money(1),
  unitAmount: money(0),
  instant: instant(LIMITS.earliest),
} as const;

/**
 * The fields of a reported payment. It may be for an attempt that was registered under older rules, or come from a
 * provider with a wrong clock, so a payment is rejected only for values that the tables cannot store.
 */
export const moneyFields = {
  provider: storable(64),
  reference: storable(LIMITS.reference),
  merchantAccount: storable(LIMITS.merchantAccount),
  transactionId: storable(LIMITS.transactionId),
  paidAt: instant(new Date(0)),
} as const;
