import { Logger } from '@nestjs/common';
import { type Clock } from '../clock';
import { type ConfirmedPublisher } from './confirmed-publisher';
import { type Delivery } from './delivery';
import { type ParkReason } from './park-reason';
import { type Publication } from './publication';
import { type TopologyNames } from './topology-names';
import { withoutTransportHeaders } from './transport-headers';

/** The longest reason in a header, in characters. The client cannot encode header tables above 64 KiB. */
const MAX_REASON = 2_000;
/** After a start, messages arrive before any can be sent, because the topology is declared first. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 250;

/**
 * Moves messages that can never be processed to the parked queue, with the reason in their headers. Publishes a copy
 * and waits for its confirm before it acknowledges the original, because dead-lettering alone could not carry the
 * reason.
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
    const mark = { 'x-ot-error-code': code, 'x-ot-error-reason': reason.slice(0, MAX_REASON) };
    this.logger.warn(`parked a message of "${fields.routingKey}" [${code}]: ${reason}`);
    const copy = {
      exchange: this.names.parked,
      routingKey: shortString(fields.routingKey),
      body: delivery.body,
      messageId: shortString(String(properties.messageId ?? `${fields.consumerTag ?? ''}:${fields.deliveryTag}`)),
      type: shortString(String(properties.type ?? fields.routingKey)),
    };
    const isKept = await this.keep(
      delivery,
      { ...copy, headers: { ...withoutTransportHeaders(delivery.headers), ...mark } },
      { ...copy, headers: { ...mark, 'x-ot-headers-dropped': 'they cannot be encoded again' } },
    );
    // Without the copy, the dead-letter exchange still keeps the message, but not the reason.
    delivery.acknowledge(isKept ? 'ack' : 'dead-letter');
  }

  /** Publishes until the broker confirms. Uses `bare` once `copy` cannot be encoded. */
  private async keep(delivery: Delivery, copy: Publication, bare: Publication): Promise<boolean> {
    const endsAt = this.clock.monotonic() + PATIENCE_MS;
    for (let wanted = copy; ;) {
      const [outcome] = await this.publisher.publish([wanted]);
      if (outcome === 'confirmed') return true;
      if (outcome === 'too-large') return false;
      if (outcome === 'unencodable') {
        if (wanted === bare) return false;
        wanted = bare;
        continue;
      }
      if (delivery.isAcknowledged || this.clock.monotonic() >= endsAt) return false;
      await this.clock.sleep(PAUSE_MS);
    }
  }
}

/**
 * Fits text into an AMQP short string, 255 bytes of UTF-8. Incoming text may be too long, because bytes that are not
 * UTF-8 were replaced with three bytes each. The cut counts UTF-16 units, each of which takes at most three bytes.
 */
function shortString(text: string): string {
  return Buffer.byteLength(text) <= 255 ? text : text.slice(0, 85);
}
