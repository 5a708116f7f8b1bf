import { type ActionContext, type Actor, contextOf } from '../transition-cause';

/** Marks a decision by a person in the history, whichever interface the request used. */
export function byOperator(by: Actor = {}): ActionContext {
  return contextOf({ ...by, cause: 'operator' });
}
