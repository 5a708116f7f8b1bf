/** A message that could not be processed. Its body is what was sent, whatever that is. */
export const parkedMessage = {
  name: 'parked',
  title: 'ParkedMessage',
  summary: 'A message that could not be processed, with its body, routing key, and headers',
  headers: {
    type: 'object',
    properties: {
      'x-ot-error-code': { type: 'string', description: 'A code of the HTTP API, or one of docs/amqp.md' },
      'x-ot-error-reason': { type: 'string', description: 'A sentence with the values' },
      'x-ot-headers-dropped': { type: 'string', description: 'Present if its own headers were dropped' },
    },
  },
} as const;

/** Where such messages are kept. @param name of the exchange and the queue. */
export function parkedChannel(name: string): Readonly<Record<string, unknown>> {
  return {
    address: name,
    summary: 'Messages that could not be processed',
    messages: { parked: { $ref: '#/components/messages/parked' } },
    bindings: { amqp: { is: 'queue', queue: { name, durable: true }, bindingVersion: '0.3.0' } },
  };
}
