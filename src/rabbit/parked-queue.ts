import { Logger } from '@nestjs/common';
import { type Clock } from '../clock';
import { type ConfirmedPublisher } from './confirmed-publisher';
import { type Delivery } from './delivery';
import { type Publication } from './publication';
import { type TopologyNames } from './topology-names';
import { withoutTransportHeaders } from './transport-headers';

/** Why a message is parked: a stable code and a sentence with the values. */
export interface ParkReason {
  readonly code: string;
  readonly reason: string;
}

/** Longest reason that goes into a header; header tables above 64 KiB are refused by the client. */
const MAX_REASON = 2_000;
/** After a start messages come in before anything can be sent: the ladder's 150 queues are declared first, 1-8 s. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 250;

/**
 * Puts what can never be processed into the parked queue, with the reason in its headers. A copy is published and
 * confirmed before the original is acknowledged, because dead-lettering alone could not say why.
 */
export class ParkedQueue {
  private readonly logger = new Logger(ParkedQueue.name);

  constructor(
    private readonly publisher: ConfirmedPublisher,
    private readonly names: TopologyNames,
    private readonly clock: Clock,
  ) {}

  async park(delivery: Delivery, { code, reason }: ParkReason): Promise<void> {
    const { fields, properties } = delivery.message;
    this.logger.warn(`parked a message of "${fields.routingKey}" [${code}]: ${reason}`);
    const isKept = await this.keep(delivery, {
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
    });
    // Without the copy the dead-letter exchange still keeps the message, only without the reason.
    delivery.settle(isKept ? 'ack' : 'dead-letter');
  }

  private async keep(delivery: Delivery, copy: Publication): Promise<boolean> {
    const endsAt = this.clock.monotonic() + PATIENCE_MS;
    for (;;) {
      const [outcome] = await this.publisher.publish([copy]);
      if (outcome === 'confirmed') return true;
      if (delivery.isSettled || this.clock.monotonic() >= endsAt) return false;
      await this.clock.sleep(PAUSE_MS);
    }
  }
}
