import { type ActionContext } from '../transition-cause';

/** Marks a decision by a person in the history, whichever interface the request used. */
export function byOperator(by: ActionContext): ActionContext {
  return { ...by, cause: 'operator' };
}
