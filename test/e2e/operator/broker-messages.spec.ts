import { connect } from 'amqplib';
import { PREFIX } from '../running-service';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { KEYS, openOperatorHost, type OperatorHost, type SignedIn } from './operator-host';

const reason = 'the shop has corrected it';

describe('an operator of an application with a broker', () => {
  let vhost: TestVhost;
  let host: OperatorHost;
  let operator: SignedIn;

  beforeAll(async () => {
    vhost = await createVhost();
    const rabbit = { urls: [vhost.url], queueType: 'classic' } as const;
    host = await openOperatorHost({ options: { rabbit, transport: 'ladder', ladder: { base: 8 }, horizonMs: 60_000 } });
    operator = await host.signIn(KEYS.operator);
    await until(async () => (await operator.get('overview')).text.includes('"messagePath":"up"'));
  });
  afterAll(async () => {
    await host.close();
    await vhost.drop();
  });

  it('sees which transport is in use, and why', async () => {
    expect((await operator.get('overview')).body).toMatchObject({
      transport: { name: 'ladder', why: expect.stringContaining('config') as string },
      broker: { state: 'up', messagePath: 'up', cause: null },
      attention: { parkedMessages: 0 },
    });
  });

  it('sees parked messages without their bodies, and sends or deletes them', async () => {
    const connection = await connect(vhost.url);
    const channel = await connection.createConfirmChannel();
    for (const messageId of ['one', 'two']) {
      const mark = { 'x-ot-error-code': 'INVALID', 'x-ot-error-reason': 'no id' };
      channel.publish(`${PREFIX}.parked`, 'order.unknown', Buffer.from('{"address":"5th Avenue"}'), {
        ...{ messageId, headers: mark, persistent: true },
      });
    }
    await channel.waitForConfirms();
    await connection.close();
    await until(async () => ((await operator.get('messages/parked')).body['messages'] as object[]).length === 2);
    const { body, text } = await operator.get('messages/parked');
    const why = 'no id; if the cause is gone, retry it; otherwise correct its sender, and discard it';
    const message = { routingKey: 'order.unknown', code: 'INVALID', reason: why };
    expect(body).toEqual({
      messages: [
        { id: 'one', ...message },
        { id: 'two', ...message },
      ],
    });
    expect(text).not.toContain('Avenue');
    expect((await operator.post('messages/parked/discard', { ids: ['two'], reason })).body).toEqual({ count: 1 });
    expect((await operator.get('messages/parked?limit=5')).body).toMatchObject({ messages: [{ id: 'one' }] });
  });
});
