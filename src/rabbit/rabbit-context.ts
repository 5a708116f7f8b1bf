import { BaseRpcContext } from '@nestjs/microservices';
import { type Delivery } from './delivery';

/**
 * What a command handler can learn about its message, by `@Ctx()`. The strategy acknowledges the message, not the handler.
 */
export class RabbitContext extends BaseRpcContext<[Delivery, string]> {
  /** The routing key of the message. */
  get pattern(): string {
    return this.args[1];
  }

  get messageId(): string | undefined {
    const id: unknown = this.args[0].message.properties.messageId;
    return typeof id === 'string' ? id : undefined;
  }

  /** The queue to which the return value of the handler is sent, as JSON. Undefined: the sender wants no answer. */
  get replyTo(): string | undefined {
    return this.args[0].replyTo;
  }

  get correlationId(): string | undefined {
    return this.args[0].correlationId;
  }

  /** W3C trace context of the sender. */
  get traceparent(): string | undefined {
    const value = this.args[0].headers['traceparent'];
    return typeof value === 'string' ? value : undefined;
  }
}
