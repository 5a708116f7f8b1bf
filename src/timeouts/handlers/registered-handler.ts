import { type ResolvedHandlerOptions } from './resolve-handler-options';
import { type TimeoutHandlerInstance } from './timeout-handler';

/** A handler that was found, with its options checked. */
export interface RegisteredHandler {
  readonly kind: string;
  readonly options: ResolvedHandlerOptions;
  readonly handler: TimeoutHandlerInstance;
}
