import { type Channel, type ChannelModel, connect } from 'amqplib';
import { ParkedMessages, TopologyNames } from '../../../src/rabbit';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

describe('the messages of the parked queue', () => {
  const names = new TopologyNames('order-timeout.v1');
  let vhost: TestVhost;
  let connection: ChannelModel;
  let channel: Channel;
  let messages: ParkedMessages;

  beforeEach(async () => {
    vhost = await createVhost();
    connection = await connect(vhost.url);
    channel = await connection.createChannel();
    await channel.assertQueue(names.parked, { durable: true });
    await channel.assertExchange(names.commands, 'topic', { durable: true });
    messages = new ParkedMessages(connection, names);
  });

  afterEach(async () => {
    await connection.close();
    await vhost.drop();
  });

  async function park(body: object, properties: object): Promise<void> {
    const confirming = await connection.createConfirmChannel();
    confirming.sendToQueue(names.parked, Buffer.from(JSON.stringify(body)), properties);
    await confirming.waitForConfirms();
    await confirming.close();
  }
  const ids = async (): Promise<string[]> => (await messages.list(10)).map(({ id }) => id);

  it('stay parked if no queue takes commands', async () => {
    await park({ orderId: 'o-1' }, { messageId: 'm-1' });
    await expect(messages.retry(['m-1'])).rejects.toMatchObject({ code: 'ORDER_TIMEOUT/COMMAND_QUEUE_MISSING' });
    await connection.close();
    connection = await connect(vhost.url);
    messages = new ParkedMessages(connection, names);
    expect(await ids()).toEqual(['m-1']);
  });

  it('are sent again without the marks of the parking, and with their own properties', async () => {
    await channel.assertQueue('taker');
    await channel.bindQueue('taker', names.commands, '#');
    const headers = { traceparent: '00-1', 'x-ot-error-code': 'ORDER_NOT_FOUND', 'x-delay': 5 };
    const own = { correlationId: 'c-1', replyTo: 'r-1', appId: 'shop' };
    await park({ orderId: 'o-1' }, { messageId: 'm-1', headers, ...own });
    expect(await messages.retry(['m-1'])).toBe(1);
    const sent = await channel.get('taker');
    if (!sent) throw new Error('nothing was sent');
    expect(sent.properties).toMatchObject({ messageId: 'm-1', deliveryMode: 2, ...own });
    expect(sent.properties.headers).toEqual({ traceparent: '00-1' });
    expect(await ids()).toEqual([]);
  });

  it('are found right after another reader had them, although a queue takes them back only after a moment', async () => {
    await park({ orderId: 'o-1' }, { messageId: 'm-1' });
    const reader = await connection.createChannel();
    expect(await reader.get(names.parked)).toMatchObject({ properties: { messageId: 'm-1' } });
    const discarding = messages.discard(['m-1']);
    // Longer than a look at the queue takes, which finds none.
    setTimeout(() => void reader.close(), 300);
    expect(await discarding).toBe(1);
  });

  it('of wake-ups are not sent, because their timeouts are in the database', async () => {
    await park({ kind: 'order.payment', key: 'o-1', generation: '1' }, { messageId: 'w-1' });
    expect(await messages.retry(['w-1'])).toBe(0);
    expect(await messages.discard(['w-1'])).toBe(1);
    expect(await ids()).toEqual([]);
  });

  it('without an id go together', async () => {
    await park({}, {});
    await park({}, { messageId: 'm-1' });
    expect(await ids()).toEqual(['', 'm-1']);
    expect(await messages.discard([''])).toBe(1);
    expect(await ids()).toEqual(['m-1']);
  });

  it('show why they are parked', async () => {
    const headers = { 'x-ot-error-code': 'INVALID_JSON', 'x-ot-error-reason': 'the body is not JSON' };
    await park({ a: 1 }, { messageId: 'm-1', headers });
    const shown = { id: 'm-1', routingKey: names.parked, code: 'INVALID_JSON', reason: 'the body is not JSON' };
    const remedy = 'correct its sender, and discard it';
    expect(await messages.list(10)).toEqual([{ ...shown, remedy, body: '{"a":1}' }]);
  });

  it('tell what to do about them: retry what may succeed now, and discard what never will', async () => {
    for (const code of ['ORDER_NOT_FOUND', 'HANDLER_FAILED', 'UNREADABLE_HEADERS'])
      await park({}, { headers: { 'x-ot-error-code': code } });
    await park({}, {});
    await park({ kind: 'order.payment', key: 'o-1', generation: '1' }, {});
    expect((await messages.list(10)).map(({ remedy }) => remedy)).toEqual([
      'if the cause is gone, retry it; otherwise correct its sender, and discard it',
      'find the error in the log, remove its cause, and retry it',
      'retry it: it is sent without them',
      'it was returned too often, or a policy moved it: remove the cause, and retry it; discard what is no command',
      'discard it: the sweep handles its timeout',
    ]);
  });
});
