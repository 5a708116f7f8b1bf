import { BaseRpcContext } from '@nestjs/microservices';
import { type Delivery } from './delivery';

/** What a command handler can ask about its message, by `@Ctx()`. The strategy settles it; the handler does not. */
export class RabbitContext extends BaseRpcContext<[Delivery, string]> {
  /** The routing key the message came with. */
  get pattern(): string {
    return this.args[1];
  }

  get messageId(): string | undefined {
    const id: unknown = this.args[0].message.properties.messageId;
    return typeof id === 'string' ? id : undefined;
  }

  /** W3C trace context of the sender. */
  get traceparent(): string | undefined {
    const value = this.args[0].headers['traceparent'];
    return typeof value === 'string' ? value : undefined;
  }
}
