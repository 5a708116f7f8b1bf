import { Logger } from '@nestjs/common';
import { uuidv7 } from 'uuidv7';
import { type Clock } from '../clock';
import { type ConfirmedPublisher } from './confirmed-publisher';
import { type Delivery, type ParkReason } from './consumer';
import { type Publication, type PublishWatch } from './publications';
import { Reminder } from './rabbit-connection';
import { type TopologyNames } from './topology';

/** A connection is made again within a second or two. A sender waits about this long for an answer. */
const PATIENCE_MS = 5_000;
const PAUSE_MS = 250;
/**
 * RabbitMQ 3 closes the connection for an answer to a malformed direct address, or to one of another cluster (541). The
 * others that were on their way then are sent once more.
 */
const MAX_TRIES = 2;
/** The longest name of a queue, in bytes of UTF-8. */
const MAX_NAME = 255;
/** Bytes that are not UTF-8 arrive as U+FFFD, so the name would be another one. */
const NAME = /^[^\p{Cc}\p{Cs}\uFFFD]+$/u;

/** RabbitMQ puts this in front of the address of a client that uses direct reply-to. */
const DIRECT = 'amq.rabbitmq.reply-to.';
/** And this in front of the name of a queue that it has named itself. No client may declare such a name. */
const NAMED_BY_BROKER = 'amq.gen-';

type Reply = Omit<Publication, 'messageId'>;

/** The connection that carries the answers and nothing else. */
interface AnswerConnection {
  /** Connects, if that has not begun, and returns immediately. */
  start(): void;
  readonly publisher: Pick<ConfirmedPublisher, 'publish' | 'isReady'>;
  /** Whether the broker has a queue, or a client that waits at this address. False if it does not tell. Must not reject. */
  isThere(queue: string): Promise<boolean>;
}

/** Makes the publisher answer after 500 ms, even if the queue of a sender confirms nothing. */
const NO_LONG_WAIT: PublishWatch = { refused: ignore, answered: ignore, timedOut: ignore };

/**
 * Sends the answers of commands to the queues that their senders name in `reply_to`. An answer is a hint: if it cannot be
 * delivered, it is dropped, and the command stands. It is not stored in the outbox, because a sender waits for seconds
 * only.
 */
export class ReplySender {
  private readonly logger = new Logger(ReplySender.name);
  private readonly reminder: Reminder;

  constructor(
    private readonly connection: AnswerConnection,
    private readonly names: TopologyNames,
    private readonly replyPrefixes: readonly string[],
    private readonly clock: Clock,
  ) {
    this.reminder = new Reminder(clock);
  }

  /**
   * Why no answer may go where the sender wants it. A sender that may only send commands must not be able to publish
   * wake-ups or parked messages through us, nor messages for other programs of the vhost. Undefined: the sender wants none, or it may have one there.
   */
  problemOf({ replyTo }: Delivery): ParkReason | undefined {
    if (replyTo === undefined) return undefined;
    const refuse = (what: string): ParkReason => ({ code: 'INVALID_REPLY_TO', reason: `the reply_to ${what}` });
    if (!NAME.test(replyTo) || Buffer.byteLength(replyTo) > MAX_NAME)
      return refuse(`must be the name of a queue, 1 to ${MAX_NAME} bytes of UTF-8 without control characters`);
    if (replyTo.startsWith(`${this.names.prefix}.`))
      return refuse(`"${replyTo}" is a name of the service; use a queue of your own, or amq.rabbitmq.reply-to`);
    if (![DIRECT, NAMED_BY_BROKER, ...this.replyPrefixes].some((prefix) => replyTo.startsWith(prefix)))
      return refuse(
        `may not name the queue "${replyTo}"; use amq.rabbitmq.reply-to, a queue that the broker names, or one whose name ` +
          'begins with an entry of RABBITMQ_REPLY_PREFIXES (rabbit.replyPrefixes)',
      );
    return undefined;
  }

  /**
   * True if the broker has taken the answer, and its queue exists. False: the sender wants none, or the answer is dropped.
   *
   * @param isRefusal whoever gets it must be there: it is asked for a client that uses direct reply-to, too
   */
  async send(delivery: Delivery, answer: unknown, isRefusal = false): Promise<boolean> {
    const { replyTo } = delivery;
    if (replyTo === undefined || this.problemOf(delivery)) return false;
    const body = encode(answer);
    if (!body) return this.dropped(replyTo, 'not JSON');
    if (!(await this.deliver(delivery, { ...replyOf(delivery, replyTo), body }))) return false;
    // Only now, so that a client that goes meanwhile is noticed.
    return !isRefusal || !replyTo.startsWith(DIRECT) || this.connection.isThere(replyTo);
  }

  private async deliver(delivery: Delivery, reply: Reply): Promise<boolean> {
    const { publisher } = this.connection;
    const endsAt = this.clock.monotonic() + PATIENCE_MS;
    this.connection.start();
    for (let tries = 0; ;) {
      if (publisher.isReady) tries += 1;
      // The publisher tells returned messages apart by their ids.
      const publication = { ...reply, messageId: uuidv7() };
      const [outcome = 'unknown'] = await publisher.publish([publication], NO_LONG_WAIT);
      if (outcome === 'confirmed') return true;
      const isLost = tries >= MAX_TRIES && reply.routingKey.startsWith(DIRECT);
      const isOver = outcome !== 'unknown' || isLost || this.clock.monotonic() >= endsAt;
      // Once its channel is lost, the command is delivered again, and is answered then.
      if (isOver || delivery.isAcknowledged) return this.dropped(reply.routingKey, outcome);
      await this.clock.sleep(PAUSE_MS);
    }
  }

  /** A sender that has gone takes its queue with it, so `returned` is normal. */
  private dropped(replyTo: string, outcome: string): false {
    if (outcome !== 'returned' && this.reminder.isDue(outcome))
      this.logger.warn(`dropped an answer to the queue "${replyTo}" (${outcome}); the command is not affected`);
    return false;
  }
}

function replyOf({ correlationId, message }: Delivery, replyTo: string): Omit<Reply, 'body'> {
  return {
    exchange: '',
    routingKey: replyTo,
    type: message.fields.routingKey,
    ...(correlationId === undefined ? {} : { correlationId }),
    // So that an answer that nobody receives is known to be lost. Direct reply-to is no queue: it is delivered, and returned too.
    mandatory: !replyTo.startsWith(DIRECT),
  };
}

/** Undefined if a host's handler has returned what JSON cannot carry. */
function encode(answer: unknown): Buffer | undefined {
  try {
    return Buffer.from(JSON.stringify(answer ?? null));
  } catch {
    return undefined;
  }
}

function ignore(): void {}
