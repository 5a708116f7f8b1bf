import { CodedError } from '../errors';

/** The host of an endpoint has an address to which no webhook may go. */
export class WebhookAddressRefusedError extends CodedError {
  constructor(host: string, address: string) {
    super(
      'WEBHOOK_ADDRESS_REFUSED',
      `${host} has the address ${address}, which is not public; if it is yours, set allowPrivateNetwork: true ` +
        '(link-local and multicast addresses are never allowed)',
    );
  }
}
