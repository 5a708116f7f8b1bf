import { type Attributes } from '@opentelemetry/api';

interface Messaging {
  /** Messages handled together. */
  readonly count?: number;
  readonly destination?: string;
  readonly messageId?: string | undefined;
}

/** The attributes of a messaging span, named as in OpenTelemetry's semantic conventions. */
export function messagingAttributes(
  operation: 'send' | 'process',
  { count, destination, messageId }: Messaging,
): Attributes {
  return {
    'messaging.system': 'rabbitmq',
    'messaging.operation.type': operation,
    ...(count !== undefined && { 'messaging.batch.message_count': count }),
    ...(destination !== undefined && { 'messaging.destination.name': destination }),
    ...(messageId !== undefined && { 'messaging.message.id': messageId }),
  };
}
