import { InvalidOptionsError } from '../../errors';
import { isValidKind } from '../scheduling/validate-requests';
import { InvalidTimeoutHandlerError } from '../timeout-errors';
import { type ResolvedHandlerOptions, resolveHandlerOptions } from './resolve-handler-options';
import { isBatchHandler, type TimeoutHandlerInstance } from './timeout-handler';
import { type TimeoutHandlerOptions } from './timeout-handler.decorator';

/** A handler with its kind, and its options checked. */
export interface RegisteredHandler {
  readonly kind: string;
  readonly options: ResolvedHandlerOptions;
  readonly handler: TimeoutHandlerInstance;
}

/** @throws when the kind or the options are not valid, or the instance cannot handle. */
export function registeredHandler(
  kind: string,
  instance: object,
  options: TimeoutHandlerOptions = {},
): RegisteredHandler {
  const { name } = instance.constructor;
  if (!isValidKind(kind)) throw new InvalidOptionsError(name, [`"${kind}" cannot be a timeout kind`]);
  if (!canHandle(instance)) throw new InvalidTimeoutHandlerError(kind, name);
  const takes = isBatchHandler(instance) ? 'batches' : 'single timeouts';
  return { kind, options: resolveHandlerOptions(kind, options, takes), handler: instance };
}

function canHandle(instance: object): instance is TimeoutHandlerInstance {
  const { handle, handleBatch } = instance as { handle?: unknown; handleBatch?: unknown };
  return typeof handle === 'function' || typeof handleBatch === 'function';
}
