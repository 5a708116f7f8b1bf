import { CodedError } from '../errors';

/** Two payment providers have one name, so an attempt would be asked about at the wrong one. */
export class DuplicatePaymentProviderError extends CodedError {
  constructor(readonly providerName: string) {
    super(
      'DUPLICATE_PAYMENT_PROVIDER',
      `two payment providers are named "${providerName}"; give each its own name, or serve several merchants ` +
        'of one provider through merchantAccount',
    );
  }
}
