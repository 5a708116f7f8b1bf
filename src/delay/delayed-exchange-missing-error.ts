import { CodedError } from '../errors';

/** The configuration requires the plugin, and the broker says that it does not have it. */
export class DelayedExchangeMissingError extends CodedError {
  constructor() {
    super(
      'DELAYED_EXCHANGE_MISSING',
      'the transport "delayed-exchange" is configured, but the broker does not know the exchange type ' +
        'x-delayed-message; configure the transport "auto" or "ladder" (needs no plugin), or enable ' +
        'rabbitmq_delayed_message_exchange (RabbitMQ 4.2 and older; it cannot run on 4.3)',
    );
  }
}
