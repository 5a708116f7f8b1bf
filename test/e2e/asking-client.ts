import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, connect, type ConsumeMessage } from 'amqplib';
import { until } from '../support/engine';
import { bodyOf, conformance, PREFIX } from './running-service';

/** A command that fails is tried six times, with pauses of 31 s in all, before its sender hears so. */
const ANSWER_MS = 60_000;

/** A program that sends commands and waits for the answers, by RabbitMQ's direct reply-to. */
export class AskingClient {
  readonly answers: ConsumeMessage[] = [];
  private readonly differences: string[] = [];

  private constructor(
    private readonly connection: ChannelModel,
    readonly channel: Channel,
  ) {}

  static async open(url: string): Promise<AskingClient> {
    const connection = await connect(url);
    const client = new AskingClient(connection, await connection.createChannel());
    await client.listen('amq.rabbitmq.reply-to');
    return client;
  }

  async listen(queue: string): Promise<void> {
    await this.channel.consume(queue, (message) => message && this.take(message), { noAck: true });
  }

  /** Sends a command, and returns the id of its answer. */
  send(name: string, body: unknown, properties: object = {}): string {
    const correlationId = randomUUID();
    const content = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    const given = { persistent: true, replyTo: 'amq.rabbitmq.reply-to', correlationId, ...properties };
    this.channel.publish(`${PREFIX}.commands`, name, content, given);
    return correlationId;
  }

  async messageFor(correlationId: string): Promise<ConsumeMessage> {
    const find = () => this.answers.find(({ properties }) => properties.correlationId === correlationId);
    await until(() => find() !== undefined, ANSWER_MS);
    return find() as ConsumeMessage;
  }

  async ask(name: string, body: unknown, properties?: object): Promise<Record<string, unknown>> {
    return bodyOf(await this.messageFor(this.send(name, body, properties)));
  }

  async close(): Promise<void> {
    await this.connection.close();
    // Of the answers from docs/asyncapi.json. Last, so that nothing is left behind.
    expect(this.differences).toEqual([]);
  }

  private take(answer: ConsumeMessage): void {
    const command = String(answer.properties.type);
    this.differences.push(...conformance().problemsOfReply(command, bodyOf(answer)));
    this.answers.push(answer);
  }
}
