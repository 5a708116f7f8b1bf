import { CodedError } from '../errors';
import { loginOf, permitCommand, quoted } from './topology';

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
    const { vhost, user } = loginOf(url);
    return new BrokerLoginRefusedError(
      url,
      `the vhost "${vhost}" does not exist, the user has no permissions on it, or a limit of connections is reached`,
      `run: rabbitmqctl add_vhost ${quoted(vhost)}; ${permitCommand(url, { prefix })}; if both are there, see the limits: ` +
        `rabbitmqctl list_user_limits --user ${quoted(user)}; rabbitmqctl list_vhost_limits -p ${quoted(vhost)}`,
    );
  }
}

/** A command was sent again, and no queue takes commands. It stays parked. */
export class CommandQueueMissingError extends CodedError {
  constructor(exchange: string) {
    super(
      'COMMAND_QUEUE_MISSING',
      `no queue is bound to the exchange "${exchange}", so the broker returned the command, and it stays parked; start an ` +
        'instance of the service, which declares the queue',
    );
  }
}

/** Two handlers are bound to the same command. */
export class DuplicateCommandHandlerError extends CodedError {
  constructor(command: string, first: string, second: string) {
    super(
      'DUPLICATE_COMMAND_HANDLER',
      `the command "${command}" is handled by ${first} and by ${second}; remove one of them, or bind an event handler to ` +
        'a transport other than RABBIT_TRANSPORT',
    );
  }
}

/** A quorum queue without a leader exists but cannot be consumed. Only logged, because it may recover. */
export class QueueUnavailableError extends CodedError {
  constructor(
    readonly queue: string,
    ms: number,
  ) {
    super(
      'QUEUE_UNAVAILABLE',
      `the queue "${queue}" could not be consumed within ${ms} ms, so it is probably a quorum queue without ` +
        'a leader or a process. If most of its nodes are up, restart one (rabbitmqctl stop_app, then start_app), which ' +
        `keeps its messages. If that does not help, delete it (rabbitmqctl delete_queue "${queue}"): it is declared ` +
        'again, without its messages. Other queues are consumed as usual',
    );
  }
}
