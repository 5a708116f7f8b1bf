import { type TransactionOptions } from '../database';
import { type ActionContext, type Actor } from './transition-cause';

/** Who acts, and in which transaction. */
export interface ActionOptions extends TransactionOptions {
  /** Stored in the order's history. @default { cause: 'api' } */
  readonly by?: ActionContext | undefined;
}

/** Which person acts, and in which transaction. The history shows the cause `operator`. */
export interface OperatorOptions extends TransactionOptions {
  /** Stored in the order's history. */
  readonly by?: Actor | undefined;
}

/**
 * Who acts, and how long the action may wait for providers. It accepts no transaction, because no transaction may wait
 * for a remote answer.
 */
export interface LookUpOptions<By extends Actor = ActionContext> {
  /** Stored in the order's history. */
  readonly by?: By | undefined;
  /** Ends the wait for the providers. @default AbortSignal.timeout(8000) */
  readonly signal?: AbortSignal | undefined;
}
