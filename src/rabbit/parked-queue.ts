import { Logger } from '@nestjs/common';
import { type ConfirmedPublisher } from './confirmed-publisher';
import { type Delivery } from './delivery';
import { type TopologyNames } from './topology-names';
import { withoutTransportHeaders } from './transport-headers';

/** Why a message is parked: a stable code and a sentence with the values. */
export interface ParkReason {
  readonly code: string;
  readonly reason: string;
}

/** Longest reason that goes into a header; header tables above 64 KiB are refused by the client. */
const MAX_REASON = 2_000;

/**
 * Puts what can never be processed into the parked queue, with the reason in its headers. A copy is published and
 * confirmed before the original is acknowledged, because dead-lettering alone could not say why.
 */
export class ParkedQueue {
  private readonly logger = new Logger(ParkedQueue.name);

  constructor(
    private readonly publisher: ConfirmedPublisher,
    private readonly names: TopologyNames,
  ) {}

  async park(delivery: Delivery, { code, reason }: ParkReason): Promise<void> {
    const { fields, properties } = delivery.message;
    this.logger.warn(`parked a message of "${fields.routingKey}" [${code}]: ${reason}`);
    const [outcome] = await this.publisher.publish([
      {
        exchange: this.names.parked,
        routingKey: fields.routingKey,
        body: delivery.body,
        messageId: String(properties.messageId ?? `${fields.consumerTag ?? ''}:${fields.deliveryTag}`),
        type: String(properties.type ?? fields.routingKey),
        headers: {
          ...withoutTransportHeaders(delivery.headers),
          'x-ot-error-code': code,
          'x-ot-error-reason': reason.slice(0, MAX_REASON),
        },
      },
    ]);
    // Without the copy the dead-letter exchange still keeps the message, only without the reason.
    delivery.settle(outcome === 'confirmed' ? 'ack' : 'dead-letter');
  }
}
