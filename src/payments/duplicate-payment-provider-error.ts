import { CodedError } from '../errors';

/** Two payment providers have the same name, so an attempt would be looked up at the wrong one. */
export class DuplicatePaymentProviderError extends CodedError {
  constructor(readonly providerName: string) {
    super(
      'DUPLICATE_PAYMENT_PROVIDER',
      `two payment providers are named "${providerName}"; give each its own name, or serve several merchants ` +
        'of one provider through merchantAccount',
    );
  }
}
