import { RabbitClient } from '../../src/rabbit';
import { openService, PREFIX, type RunningService } from '../e2e/running-service';
import { until } from '../support/engine';

/** A slot of the consumer must be free again long before the patience of 15 s for a broker that does not answer. */
const AT_ONCE_MS = 5_000;

/** The broker's own time with them grows with the square of the depth: 0.4 s for 5000, up to 4 s for 20000. */
const nested = (open: string, close: string, depth: number): string =>
  `{"tenant":${open.repeat(depth)}1${close.repeat(depth)}}`;

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('a command with headers that our client cannot handle', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());
  beforeEach(() => service.parked.splice(0));

  /** By the management API, which takes headers that our own client cannot encode and others can. */
  const publish = (exchange: string, routingKey: string, headers: string): Promise<unknown> => {
    const message = { routing_key: routingKey, payload: '{"hostile":1}', payload_encoding: 'string' };
    const properties = `{"message_id":"hostile","content_type":"application/json","headers":${headers}}`;
    return service.vhost.manage(
      'POST',
      `/exchanges/${service.vhost.name}/${exchange}/publish`,
      `${JSON.stringify(message).slice(0, -1)},"properties":${properties}}`,
    );
  };

  const consuming = (): unknown => service.app.get(RabbitClient)['consuming'].model;

  const isolated = async (exchange: string, routingKey: string, headers: string, limitMs = 15_000): Promise<void> => {
    const before = consuming();
    await publish(exchange, routingKey, headers);
    service.command('order.unknown', {}, { messageId: 'harmless' });
    await until(() => service.parked.length === 2, limitMs);
    expect(consuming()).toBe(before);
    expect(before).toBeDefined();
    expect(service.app.get(RabbitClient).isUp).toBe(true);
  };
  const hostile = () => service.parked.find(({ properties }) => properties.messageId === 'hostile');

  it.each([
    ['arrays nested 5000 deep', nested('[', ']', 5_000)],
    ['arrays nested 10000 deep', nested('[', ']', 10_000)],
    ['tables nested 8000 deep', nested('{"a":', '}', 8_000)],
  ])('%s is parked with its body, and neither the connection nor others are affected', async (_, headers) => {
    await isolated(`${PREFIX}.commands`, 'order.placed', headers);
    expect(hostile()?.content.toString()).toBe('{"hostile":1}');
    expect(hostile()?.properties.headers?.['x-ot-error-code']).toMatch(/^(UNREADABLE_HEADERS|VALIDATION_FAILED)$/);
    expect(hostile()?.properties.headers?.tenant).toBeUndefined();
  });

  it('nested deep on a wake-up is parked too', async () => {
    await isolated(`${PREFIX}.work`, 'order.payment', nested('[', ']', 10_000));
    expect(hostile()?.properties.headers?.['x-ot-error-code']).toBe('UNREADABLE_HEADERS');
  });

  it('too large to be encoded again is parked at once, without those headers and with a word about it', async () => {
    await isolated(`${PREFIX}.commands`, 'order.placed', JSON.stringify({ tenant: 'x'.repeat(100_000) }), AT_ONCE_MS);
    expect(hostile()?.content.toString()).toBe('{"hostile":1}');
    expect(hostile()?.properties.headers).toEqual({
      'x-ot-error-code': 'VALIDATION_FAILED',
      'x-ot-error-reason': expect.any(String) as string,
      'x-ot-headers-dropped': 'they cannot be encoded again',
    });
  });
});
