import { CodedError } from '../errors';

/** Pause between two logins: the broker logs an error for each, and nothing changes until a person acts. */
export const REFUSED_PAUSE_S = 10;

/** The broker is reachable and refuses the login. Logged instead of thrown, because it may accept the login later. */
export class BrokerLoginRefusedError extends CodedError {
  private constructor(url: URL, why: string, remedy: string) {
    const user = decodeURIComponent(url.username) || 'guest';
    super(
      'BROKER_LOGIN_REFUSED',
      `the broker at ${url.host} refuses the user "${user}": ${why}; ${remedy}. Until then, nothing is published or ` +
        `consumed, and the sweep handles due timeouts; retrying every ${REFUSED_PAUSE_S} s`,
    );
  }

  /**
   * Undefined if `error` is not a refusal, for example if the broker is unavailable.
   *
   * @param given the URL that was tried
   */
  static from(error: Error | undefined, given: unknown): BrokerLoginRefusedError | undefined {
    const message = error?.message ?? '';
    if (typeof given !== 'string' || !URL.canParse(given)) return undefined;
    const url = new URL(given);
    if (/\(ACCESS[-_]REFUSED\)/.test(message)) {
      return new BrokerLoginRefusedError(url, message, 'correct the user or password in rabbit.urls (RABBITMQ_URLS)');
    }
    // The only text of amqplib if the broker closes the connection at the last step, which names the vhost.
    if (!/ConnectionOpenOk; got <ConnectionClose/.test(message)) return undefined;
    const vhost = decodeURIComponent(url.pathname.slice(1)) || '/';
    return new BrokerLoginRefusedError(
      url,
      `the vhost "${vhost}" does not exist, or the user has no permissions on it`,
      `run: rabbitmqctl add_vhost "${vhost}", and rabbitmqctl set_permissions -p "${vhost}" USER CONFIGURE WRITE READ`,
    );
  }
}
