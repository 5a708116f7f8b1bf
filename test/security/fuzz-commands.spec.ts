import { type ConfirmChannel, connect, type ChannelModel } from 'amqplib';
import fc from 'fast-check';
import { RabbitClient } from '../../src/rabbit';
import { PREFIX } from '../e2e/running-service';
import { until } from '../support/engine';
import { anyBody, anyText, wellFormed } from './arbitrary-values';
import { type AttackStage, LEAK, openAttackStage } from './attack-stage';

const RUNS = 60;
const AT_ONCE = 60;

interface Command {
  readonly routingKey: string;
  readonly body: Buffer;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** What amqplib sends as a short string: at most 255 bytes. */
const shortText = anyText.map((text) => Buffer.from(wellFormed(text)).subarray(0, 60).toString());

const headerValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    anyText.map((text) => wellFormed(text)),
    fc.constantFrom<unknown>(null, true, 0, -1, 2 ** 31, 2 ** 40, 1.5, Number.MAX_SAFE_INTEGER),
    fc.constantFrom<unknown>({ '!': 'timestamp', value: 1 }, { '!': 'decimal', value: { digits: 1, places: 2 } }, { '!': 'float', value: 1 }), // prettier-ignore
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.string({ minLength: 1, maxLength: 10 }).filter((name) => name !== '!'), tie('value'), { maxKeys: 3 }), // prettier-ignore
  ),
})).value;

const headerName = fc.constantFrom(
  ...[
    'traceparent',
    'x-death',
    'x-delay',
    'x-delivery-count',
    'x-acquired-count',
    'x-ot-error-code',
    'x-ot-error-reason',
  ],
  ...['x-first-death-queue', 'x-opt-a', 'content-type', 'constructor', 'toString', 'tenant'],
);

const command: fc.Arbitrary<Command> = fc.record({
  routingKey: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('order.placed', 'payment.attempted', 'order.paid', 'order.extended', 'order.cancelled', 'stock.changed', 'order.read', 'stock.read') }, // prettier-ignore
    { weight: 1, arbitrary: shortText },
    {
      weight: 1,
      arbitrary: fc.constantFrom('', '#', '*', '__proto__', 'constructor', 'order.timeout', 'é'.repeat(127)),
    },
  ),
  body: anyBody,
  properties: fc.record(
    {
      headers: fc.dictionary(headerName, headerValue, { maxKeys: 6 }),
      contentType: shortText,
      contentEncoding: fc.oneof(fc.constantFrom('gzip', 'utf-16'), shortText),
      appId: shortText,
      type: shortText,
      correlationId: shortText,
      replyTo: fc.oneof(fc.constant('amq.gen-gone'), shortText),
      priority: fc.nat(255),
      timestamp: fc.constantFrom(0, 1, 2 ** 31, 2 ** 52),
    },
    { requiredKeys: [] },
  ),
});

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('fuzzed commands', () => {
  let stage: AttackStage;
  let connection: ChannelModel;
  let channel: ConfirmChannel;

  beforeAll(async () => {
    stage = await openAttackStage();
    connection = await connect(stage.service.vhost.url);
    channel = await connection.createConfirmChannel();
  });
  afterAll(async () => {
    await connection.close();
    await stage.close();
  });

  let sent = 0;
  function send({ routingKey, body, properties }: Command): string {
    const messageId = `fuzz-${++sent}`;
    channel.publish(`${PREFIX}.commands`, routingKey, body, { persistent: false, ...properties, messageId });
    return messageId;
  }

  const isParked = (messageId: string): boolean =>
    stage.service.parked.some(({ properties }) => properties.messageId === messageId);

  it('are all parked with a reason, and change no order', async () => {
    const before = await stage.fingerprint();
    const batch = fc.array(command, { minLength: AT_ONCE, maxLength: AT_ONCE });
    await fc.assert(
      fc.asyncProperty(batch, async (commands) => {
        stage.service.parked.splice(0);
        const ids = commands.map(send);
        await channel.waitForConfirms();
        await until(() => stage.service.parked.length >= ids.length, 12_000).catch(() => undefined);
        const lost = commands.filter((_, index) => !isParked(ids[index] ?? ''));
        expect(lost.map(({ routingKey, body, properties }) => [routingKey, body.toString().slice(0, 200), properties])).toEqual([]); // prettier-ignore
        for (const { properties } of stage.service.parked) {
          expect(properties.headers?.['x-ot-error-code']).toMatch(
            /^(VALIDATION_FAILED|INVALID_JSON|UNKNOWN_COMMAND|INVALID_REPLY_TO|REPLY_TO_MISSING)$/,
          );
          expect(properties.headers?.['x-ot-error-reason']).not.toMatch(LEAK);
        }
      }),
      { numRuns: RUNS, endOnFailure: true, interruptAfterTimeLimit: 150_000, markInterruptAsFailure: true },
    );
    if (process.env.TEST_FIGURES) process.stderr.write(`AMQP ${sent} commands\n`);
    expect(sent).toBeGreaterThanOrEqual(RUNS * AT_ONCE);
    expect(await stage.fingerprint()).toBe(before);
    expect((await stage.service.call('get', '/health/ready')).body.status).toBe('ready');
  });

  it.each<[string, string]>([
    ['of 100 KiB', JSON.stringify({ tenant: 'x'.repeat(100_000) })],
    ['of 64 KiB', JSON.stringify({ tenant: 'x'.repeat(65_000) })],
    ['with 2000 names', JSON.stringify(Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`h-${at}`, at])))],
    ['nested 1000 deep', `{"tenant":${'['.repeat(1_000)}1${']'.repeat(1_000)}}`],
  ])(
    'with a header table %s is kept, and the next one is taken',
    async (_, headers) => {
      const { vhost, app, parked } = stage.service;
      parked.splice(0);
      // The management API takes headers that our own client cannot encode and others can.
      const exchange = `/exchanges/${vhost.name}/${PREFIX}.commands/publish`;
      const rest = { routing_key: 'order.placed', payload: '{}', payload_encoding: 'string' };
      const body = `${JSON.stringify(rest).slice(0, -1)},"properties":{"headers":${headers}}}`;
      await vhost.manage('POST', exchange, body);
      const next = send({ routingKey: 'order.placed', body: Buffer.from('{}'), properties: {} });
      await until(() => isParked(next));
      await until(() => parked.length === 2, 5_000);
      expect(app.get(RabbitClient).isUp).toBe(true);
    },
    45_000,
  );
});
