import { CodedError } from '../errors';

/** Between two tries: the broker logs an error for each, and nothing changes before a person has done something. */
export const REFUSED_PAUSE_S = 10;

/** The broker is there and does not let us in. Logged and not thrown, as it may let us in later. */
export class BrokerLoginRefusedError extends CodedError {
  private constructor(url: URL, why: string, remedy: string) {
    const user = decodeURIComponent(url.username) || 'guest';
    super(
      'BROKER_LOGIN_REFUSED',
      `the broker at ${url.host} refuses the user "${user}": ${why}; ${remedy}. Until then nothing is published or ` +
        `consumed, and the sweep handles what is due; trying again every ${REFUSED_PAUSE_S} s`,
    );
  }

  /** Undefined when `error` is no refusal, such as a broker that is away. @param given the URL that was tried */
  static from(error: Error | undefined, given: unknown): BrokerLoginRefusedError | undefined {
    const message = error?.message ?? '';
    if (typeof given !== 'string' || !URL.canParse(given)) return undefined;
    const url = new URL(given);
    if (/\(ACCESS[-_]REFUSED\)/.test(message)) {
      return new BrokerLoginRefusedError(url, message, 'correct the user or password in rabbit.urls (RABBITMQ_URLS)');
    }
    // All that amqplib says when the broker answers the last step, which names the vhost, by closing the connection.
    if (!/ConnectionOpenOk; got <ConnectionClose/.test(message)) return undefined;
    const vhost = decodeURIComponent(url.pathname.slice(1)) || '/';
    return new BrokerLoginRefusedError(
      url,
      `the vhost "${vhost}" does not exist or is closed to it`,
      `run: rabbitmqctl add_vhost "${vhost}", and rabbitmqctl set_permissions -p "${vhost}" USER CONFIGURE WRITE READ`,
    );
  }
}
