import { type ConsumerDeserializer, type IncomingEvent, type IncomingRequest } from '@nestjs/microservices';

/**
 * Lets a Nest application consume our events with `Transport.RMQ` and `@EventPattern('order.closed')`: the pattern of an
 * event is the type of its message, and its data the body. Messages of Nest itself stay as they are.
 */
export class EventDeserializer implements ConsumerDeserializer {
  /** @param properties of the AMQP message */
  deserialize(body: unknown, properties: { readonly type?: unknown } = {}): IncomingEvent | IncomingRequest {
    if (isOfNest(body)) return body;
    return { pattern: typeof properties.type === 'string' ? properties.type : typeOf(body), data: body };
  }
}

function isOfNest(body: unknown): body is IncomingEvent | IncomingRequest {
  return typeof body === 'object' && body !== null && 'pattern' in body && 'data' in body;
}

function typeOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
}
