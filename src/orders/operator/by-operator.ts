import { type ActionContext, type Actor } from '../transition-cause';

/** Marks a decision by a person in the history, whichever interface the request used. */
export function byOperator(by: Actor = {}): ActionContext {
  return { ...by, cause: 'operator' };
}
