import { CodedError } from '../../errors';

/** The host's body parser has thrown away the bytes that a provider has signed. */
export class RawBodyMissingError extends CodedError {
  constructor() {
    super(
      'RAW_BODY_MISSING',
      'payment notifications need the body as it was sent: create the application with ' +
        'NestFactory.create(AppModule, { rawBody: true }), or parse /payments/*/notify with express.raw()',
    );
  }
}
