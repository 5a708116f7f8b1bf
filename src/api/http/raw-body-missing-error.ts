import { CodedError } from '../../errors';

/** The host's body parser did not keep the bytes that a provider has signed. */
export class RawBodyMissingError extends CodedError {
  constructor() {
    super(
      'RAW_BODY_MISSING',
      'payment notifications need the raw body: create the application with ' +
        'NestFactory.create(AppModule, { rawBody: true }), or parse /payments/*/notify with express.raw()',
    );
  }
}
