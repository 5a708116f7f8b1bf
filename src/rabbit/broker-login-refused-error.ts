import { CodedError } from '../errors';
import { loginOf, permitCommand, quoted } from './service-permissions';

/** Pause between two logins: the broker logs an error for each, and nothing changes until a person acts. */
export const REFUSED_PAUSE_S = 10;

/** The broker is reachable and refuses the login. Logged instead of thrown, because it may accept the login later. */
export class BrokerLoginRefusedError extends CodedError {
  readonly seen: string;

  private constructor(
    url: URL,
    why: string,
    /** What to do. */
    readonly remedy: string,
  ) {
    const seen = `the broker at ${url.host} refuses the user "${loginOf(url).user}": ${why}`;
    super(
      'BROKER_LOGIN_REFUSED',
      `${seen}; ${remedy}. Until then, nothing is published or ` +
        `consumed, and the sweep handles due timeouts; retrying every ${REFUSED_PAUSE_S} s`,
    );
    this.seen = seen;
  }

  /**
   * Undefined if `error` is not a refusal, for example if the broker is unavailable.
   *
   * @param given the URL that was tried
   * @param prefix of the service's names, for which its user needs rights
   */
  static from(error: Error | undefined, given: unknown, prefix: string): BrokerLoginRefusedError | undefined {
    const message = error?.message ?? '';
    if (typeof given !== 'string' || !URL.canParse(given)) return undefined;
    const url = new URL(given);
    if (/\(ACCESS[-_]REFUSED\)/.test(message)) {
      return new BrokerLoginRefusedError(url, message, 'correct the user or password in rabbit.urls (RABBITMQ_URLS)');
    }
    // The only text of amqplib if the broker closes the connection at the last step, which names the vhost.
    if (!/ConnectionOpenOk; got <ConnectionClose/.test(message)) return undefined;
    const { vhost } = loginOf(url);
    return new BrokerLoginRefusedError(
      url,
      `the vhost "${vhost}" does not exist, or the user has no permissions on it`,
      `run: rabbitmqctl add_vhost ${quoted(vhost)}; ${permitCommand(url, { prefix })}`,
    );
  }
}
