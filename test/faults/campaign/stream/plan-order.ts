import { Random } from '../../../support/buyers/random';

/** What the buyer, or the shop for him, does. */
export type Deed =
  | { readonly type: 'nothing' }
  | { readonly type: 'cancel'; readonly atMs: number }
  /** The deadline moves to this long after placing. */
  | { readonly type: 'extend'; readonly atMs: number; readonly toMs: number }
  | { readonly type: 'never-pays' }
  /** `isReported`: the shop learns of it, and says so; else the provider's notification is lost. */
  | { readonly type: 'pays'; readonly atMs: number; readonly isReported: boolean }
  /** The provider closes the payment, says so, and takes the money all the same. */
  | { readonly type: 'pays-after-close' };

/** One order of the stream. Times count from its placing. */
export interface PlannedOrder {
  readonly id: string;
  readonly channel: 'http' | 'amqp';
  readonly windowMs: number;
  /** Minor units. */
  readonly amount: number;
  readonly lines: readonly { readonly sku: string; readonly quantity: number }[];
  readonly deed: Deed;
}

/** The first ones are popular, so that orders of one batch share them; were all so, orders would queue for their rows. */
export const SKUS: readonly string[] = Array.from({ length: 200 }, (_, index) => `article-${index}`);
const POPULAR = 3;
const POPULAR_SHARE = 0.1;
/** From one in every 1,000 orders on, so many in a row want the same article. */
const FLASH_SALE = { from: 100, to: 250 };
/** On hand of each at the beginning: never sold out. */
export const PLENTY = 10_000_000;
export const CURRENCY = 'EUR';
/** Pieces of one unit amount each, so that the amount is their number. */
export const UNIT_AMOUNT = 100;

const MIN_WINDOW_MS = 1_000;
const MAX_WINDOW_MS = 15_000;
/** Some wait for longer: their wake-ups are on the broker while it is replaced, and fall due when all is well again. */
const PATIENT_SHARE = 0.1;
const MIN_PATIENT_MS = 25_000;
const MAX_PATIENT_MS = 45_000;

/** Pure: order `number` of the run with this seed; the check makes it again instead of remembering it. */
export function planOrder(seed: number, number: number): PlannedOrder {
  const random = new Random(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
  const usualMs = random.between(MIN_WINDOW_MS, MAX_WINDOW_MS);
  const drawn =
    random.next() < POPULAR_SHARE ? random.between(0, POPULAR - 1) : random.between(POPULAR, SKUS.length - 1);
  const first = isFlashSale(number) ? 0 : drawn;
  const lines = Array.from({ length: random.between(1, 3) }, (_, index) => {
    return { sku: `article-${(first + index * 7) % SKUS.length}`, quantity: random.between(1, 3) };
  });
  const channel = random.next() < 0.2 ? 'amqp' : 'http';
  const deed = planDeed(random, usualMs);
  const isPatient = deed.type === 'nothing' && random.next() < PATIENT_SHARE;
  return {
    id: `f${seed}-${number}`,
    channel,
    windowMs: isPatient ? random.between(MIN_PATIENT_MS, MAX_PATIENT_MS) : usualMs,
    amount: lines.reduce((sum, { quantity }) => sum + quantity * UNIT_AMOUNT, 0),
    lines,
    deed,
  };
}

function isFlashSale(number: number): boolean {
  const place = number % 1_000;
  return place >= FLASH_SALE.from && place < FLASH_SALE.to;
}

export function hasAttempt({ deed }: PlannedOrder): boolean {
  return deed.type === 'never-pays' || deed.type === 'pays' || deed.type === 'pays-after-close';
}

/** 40 of 100 have a payment attempt. */
function planDeed(random: Random, windowMs: number): Deed {
  const dice = random.next() * 100;
  const within = (from: number, to: number): number => Math.round(windowMs * (from + random.next() * (to - from)));
  if (dice < 50) return { type: 'nothing' };
  if (dice < 54) return { type: 'cancel', atMs: within(0.2, 0.9) };
  if (dice < 60) return { type: 'extend', atMs: within(0.2, 0.8), toMs: windowMs + random.between(500, 5_000) };
  if (dice < 71) return { type: 'never-pays' };
  if (dice < 80) return { type: 'pays', atMs: within(0.1, 0.9), isReported: true };
  if (dice < 88) return { type: 'pays', atMs: within(0.1, 0.95), isReported: false };
  if (dice < 95) return { type: 'pays', atMs: windowMs + random.between(-300, 300), isReported: false };
  if (dice < 98) return { type: 'pays', atMs: windowMs + random.between(300, 4_000), isReported: false };
  return { type: 'pays-after-close' };
}
