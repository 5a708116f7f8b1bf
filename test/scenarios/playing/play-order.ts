import { type Random } from '../../support/buyers/random';
import { type Plan, type ProviderName, type Scenario } from '../scenario';
import { type Stage } from '../stage/open-stage';
import { castOf } from './cast-of';
import { placeOrder } from './place-order';
import { type Placed, type PlacedPayment } from './placed-order';
import { stretchPlan } from './stretch-plan';
import { TooLateError } from './too-late-error';

/** One order to be played. */
export interface Role {
  readonly id: string;
  readonly scenario: Scenario;
  readonly provider: ProviderName;
  readonly plan: Plan;
  readonly random: Random;
}

export interface Playing {
  readonly stage: Stage;
  readonly signal: AbortSignal;
  /** Called for every order that was placed, rivals included; again when it turned out to be too late. */
  readonly placed: (order: Placed) => void;
}

/** What an order has in common with another one. */
export interface Like {
  readonly lines?: Placed['lines'];
  readonly twins?: readonly PlacedPayment[];
}

/** Each of them gives everybody twice as much time. */
const MOST_TRIES = 5;

/**
 * Places an order and plays what shop and buyer do about it; again with another order where the machine was too busy.
 * Rejects when a step could not be played.
 */
export async function playOrder(playing: Playing, role: Role, like: Like = {}): Promise<void> {
  let factor = 1;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1, factor *= 2) {
    const id = tries === 1 ? role.id : `${role.id}-try${tries}`;
    const stretched = { ...role, id, plan: stretchPlan(role.plan, factor) };
    const order = await placeOrder(playing.stage, { ...stretched, ...like });
    playing.placed(order);
    if (await act(playing, stretched, order, factor)) return;
    playing.placed({ ...order, isTooLate: true });
  }
  throw new Error(`the machine was too busy ${MOST_TRIES} times`);
}

/** @returns false: there was no time for the story. */
async function act(playing: Playing, role: Role, order: Placed, factor: number): Promise<boolean> {
  const cast = castOf({ playing, role, order, factor, playOrder });
  if (order.isTooLate) {
    await role.plan.breakOff?.(cast);
    return false;
  }
  try {
    await role.plan.act?.(cast);
    return true;
  } catch (error) {
    if (error instanceof TooLateError) return false;
    throw error;
  }
}
