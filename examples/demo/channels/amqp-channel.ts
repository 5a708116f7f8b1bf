import { type ChannelModel, type ConfirmChannel } from 'amqplib';
import { type OrderRequest, type PaymentReport, type ShopChannel } from './shop-channel';

/** A shop in any language: plain JSON to the exchange of commands. A confirmed message is the broker's to keep. */
export class AmqpChannel implements ShopChannel {
  private constructor(
    private readonly channel: ConfirmChannel,
    private readonly exchange: string,
  ) {}

  static async open(connection: ChannelModel, prefix: string): Promise<AmqpChannel> {
    return new AmqpChannel(await connection.createConfirmChannel(), `${prefix}.commands`);
  }

  place(order: OrderRequest): Promise<void> {
    return this.publish('order.placed', order);
  }

  reportPaid(payment: PaymentReport): Promise<void> {
    return this.publish('order.paid', payment);
  }

  cancel(orderId: string): Promise<void> {
    return this.publish('order.cancelled', { orderId, reason: 'the buyer changed his mind' });
  }

  moveDeadline(orderId: string, expiresAt: Date): Promise<void> {
    return this.publish('order.extended', { orderId, expiresAt });
  }

  private publish(command: string, body: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      const options = { persistent: true, contentType: 'application/json' };
      this.channel.publish(this.exchange, command, Buffer.from(JSON.stringify(body)), options, (error: unknown) => {
        if (error) reject(error instanceof Error ? error : new Error(`the broker did not take ${command}`));
        else resolve();
      });
    });
  }
}
