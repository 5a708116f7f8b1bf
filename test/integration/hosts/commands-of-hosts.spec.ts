import { Controller, type INestApplication, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { connect, type ChannelModel, type ConsumeMessage } from 'amqplib';
import { Inventory, Orders, OrderTimeoutModule } from '../../../src';
import { RABBIT_TRANSPORT, RabbitServer } from '../../../src/public/rabbit';
import { RabbitClient } from '../../../src/rabbit';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const PREFIX = 'order-timeout.v1';
const taken: string[] = [];

/** Handlers of a host for another transport, e.g. for Kafka: Nest adds them to every server. */
@Controller()
class EventsOfHost {
  @EventPattern<string>('order.paid')
  paid(@Payload() body: unknown): void {
    taken.push(`order.paid ${JSON.stringify(body)}`);
  }

  @EventPattern<string[]>(['stock.emptied', 'stock.filled'])
  stock(): void {
    taken.push('stock');
  }

  @MessagePattern('refund.all')
  refund(): void {
    taken.push('refund.all');
  }
}

@Controller()
class CommandsOfHost {
  @EventPattern<string>('shop.greet', RABBIT_TRANSPORT)
  greet(@Payload() { name }: { name: string }): void {
    taken.push(`shop.greet ${name}`);
  }

  @EventPattern<string[]>(['shop.one', 'shop.two'], RABBIT_TRANSPORT, { some: 'extra' })
  oneOrTwo(): void {
    taken.push('shop.one or two');
  }
}

@Controller()
class ClashingCommands {
  @EventPattern<string>('order.paid', RABBIT_TRANSPORT)
  alsoPaid(): void {
    taken.push('clash');
  }
}

describe('command handlers of a host', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let broker: ChannelModel;
  let app: INestApplication | undefined;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    broker = await connect(vhost.url);
  });

  beforeEach(() => {
    taken.length = 0;
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  afterAll(async () => {
    await broker.close();
    await database.drop();
    await vhost.drop();
  });

  async function start(controllers: Type[]): Promise<INestApplication> {
    const rabbit = { urls: [vhost.url], queueType: 'classic' as const };
    @Module({
      imports: [OrderTimeoutModule.forRoot({ dataSource: database.dataSource, rabbit, transport: 'none' })],
      controllers,
    })
    class Host {}
    app = await NestFactory.create(Host, { logger: false, abortOnError: false });
    app.connectMicroservice({ strategy: app.get(RabbitServer) });
    await app.startAllMicroservices();
    return app.init();
  }

  /** Publishes commands and one that is unknown, and waits until so many of them are parked, and the unknown one. */
  async function command(sent: readonly (readonly [string, unknown])[], parks: number): Promise<ConsumeMessage[]> {
    const channel = await broker.createConfirmChannel();
    const parked: ConsumeMessage[] = [];
    await until(() => app?.get(RabbitClient).isUp === true);
    await channel.consume(`${PREFIX}.parked`, (message) => message && parked.push(message), { noAck: true });
    for (const [name, body] of sent) {
      channel.publish(`${PREFIX}.commands`, name, Buffer.from(JSON.stringify(body)), { persistent: true });
    }
    channel.publish(`${PREFIX}.commands`, 'the.last', Buffer.from('{}'));
    await until(() => parked.length > parks);
    await channel.close();
    return parked.filter(({ fields }) => fields.routingKey !== 'the.last');
  }

  const codes = (parked: readonly ConsumeMessage[]): unknown[][] =>
    parked.map(({ fields, properties }) => {
      const headers: Record<string, unknown> = properties.headers ?? {};
      return [fields.routingKey, headers['x-ot-error-code']];
    });

  it('receive commands only if they name our transport', async () => {
    const host = await start([EventsOfHost, CommandsOfHost]);
    await host.get(Inventory).setStock(database.dataSource.manager, 'apple', 5);
    await host.get(Orders).place({ id: 'o-1', amount: 5, currency: 'EUR', lines: [] });
    const paid = { orderId: 'o-1', provider: 'p', reference: 'r', amount: 5, currency: 'EUR' };
    const sent = [
      ['order.paid', paid],
      ['stock.emptied', {}],
      ['refund.all', {}],
      ['shop.greet', { name: 'Ada' }],
      ['shop.two', {}],
    ] as const;
    const parked = await command(sent, 2);
    await until(async () => (await host.get(Orders).get('o-1'))?.status === 'PAID');
    await until(() => taken.length >= 2);
    expect(taken.toSorted()).toEqual(['shop.greet Ada', 'shop.one or two']);
    expect(codes(parked).toSorted()).toEqual([
      ['refund.all', 'UNKNOWN_COMMAND'],
      ['stock.emptied', 'UNKNOWN_COMMAND'],
    ]);
    expect(String(parked[0]?.properties.headers?.['x-ot-error-reason'])).toContain('RABBIT_TRANSPORT');
  });

  it('never receive invalid commands, which are parked', async () => {
    await start([EventsOfHost]);
    const parked = await command([['order.paid', { anything: 'at all' }]], 1);
    expect(codes(parked)).toEqual([['order.paid', 'VALIDATION_FAILED']]);
    expect(taken).toEqual([]);
  });

  it('must be unique for a command: otherwise the start fails and names both', async () => {
    await expect(start([ClashingCommands])).rejects.toMatchObject({
      code: 'ORDER_TIMEOUT/DUPLICATE_COMMAND_HANDLER',
      message: expect.stringMatching(
        /"order\.paid" is handled by (OrderCommandsController\.paid and by ClashingCommands\.alsoPaid|ClashingCommands\.alsoPaid and by OrderCommandsController\.paid)/,
      ) as string,
    });
  });
});
