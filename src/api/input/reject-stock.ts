import { type SetStockOutcome } from '../../inventory';
import { RequestRejectedError } from './request-rejected-error';

/** The error for a SKU that does not exist, or that the caller must not see. */
export function skuNotFound(sku: string): RequestRejectedError {
  return new RequestRejectedError('SKU_NOT_FOUND', `there is no SKU "${sku}"; set its stock first`);
}

/** Maps a refused stock change to an error that says what to do. */
export function rejectStock(sku: string, outcome: Exclude<SetStockOutcome, { type: 'set' }>): RequestRejectedError {
  switch (outcome.type) {
    case 'below-reserved': {
      const { reserved } = outcome;
      const reason = `${reserved} units of "${sku}" are reserved for orders, so at least ${reserved} must stay on hand`;
      return new RequestRejectedError('STOCK_BELOW_RESERVED', reason, { reserved });
    }
    case 'too-large': {
      const { max } = outcome;
      return new RequestRejectedError('STOCK_TOO_LARGE', `at most ${max} units of "${sku}" can be on hand`, { max });
    }
    case 'changed': {
      const { onHand, reserved, available } = outcome.level;
      const reason = `${onHand} units of "${sku}" are on hand, which is not what you expected; choose onHand again, or use add`;
      return new RequestRejectedError('STOCK_CHANGED', reason, { onHand, reserved, available });
    }
  }
}
