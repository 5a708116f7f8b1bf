import { type Options } from 'amqplib';
import { type Publication } from './publication';

/** The AMQP properties of a publication. @param nowMs epoch milliseconds. */
export function propertiesOf(
  { messageId, type, headers, correlationId, mandatory }: Publication,
  nowMs: number,
): Options.Publish {
  return {
    persistent: true,
    messageId,
    type,
    contentType: 'application/json',
    timestamp: Math.floor(nowMs / 1000),
    ...(headers && { headers }),
    ...(correlationId !== undefined && { correlationId }),
    ...(mandatory && { mandatory }),
  };
}
