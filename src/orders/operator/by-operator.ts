import { type ActionContext } from '../transition-cause';

/** What a person decides by hand is told apart in the history, whichever door the request came through. */
export function byOperator(by: ActionContext): ActionContext {
  return { ...by, cause: 'operator' };
}
