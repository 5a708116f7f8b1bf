import { CodedError } from '../errors';

/** The configuration requires the plugin, and the broker has it, but it does not deliver. */
export class DelayedExchangeUnusableError extends CodedError {
  constructor(reason: string) {
    super(
      'DELAYED_EXCHANGE_UNUSABLE',
      `the transport "delayed-exchange" is configured and the broker has the plugin, but it does not work: ${reason}; ` +
        'disable and enable rabbitmq_delayed_message_exchange on every node, restart the node, or configure the ' +
        'transport "auto" or "ladder" (needs no plugin)',
    );
  }
}
