import { Test } from '@nestjs/testing';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, MoreThan, type Repository } from 'typeorm';
import {
  orderEntities,
  OrderEntity,
  PaymentAttemptEntity,
  StockEntity,
  UnmatchedPaymentEntity,
} from '../../../src/public/orders';
import { fill, newOrder, openShop, type Shop, stockOf } from './shop';

describe("the product's tables as TypeORM entities", () => {
  let shop: Shop;
  let host: DataSource;

  beforeAll(async () => {
    shop = await openShop();
    await fill(shop, { apple: 10 });
    const { url } = shop.database;
    host = await new DataSource({ type: 'postgres', url, entities: [...orderEntities()] }).initialize();
  });

  afterAll(async () => {
    await host.destroy();
    await shop.database.drop();
  });

  const placed = async (): Promise<string> => {
    const order = newOrder({
      lines: [{ sku: 'apple', quantity: 2, unitAmount: 5 }],
      paymentWindowMs: 600_000,
      metadata: { cart: 'c-1' },
    });
    await shop.place.execute([order]);
    await shop.register.execute({ orderId: order.id, provider: 'fake', reference: `r-${order.id}` });
    return order.id;
  };

  it('read an order with its lines, attempts, history, and stock', async () => {
    const id = await placed();
    const paid = { orderId: id, provider: 'fake', reference: `r-${id}`, amount: 1_999, currency: 'EUR' };
    await shop.markPaid.execute(paid);
    const relations = { lines: true, attempts: true, history: true, refunds: true, reservations: true };
    const order = await host.getRepository(OrderEntity).findOneOrFail({ where: { id }, relations });
    expect(order).toBeInstanceOf(OrderEntity);
    expect(order).toMatchObject({
      ...{ status: 'PAID', amount: 1_999, currency: 'EUR', metadata: { cart: 'c-1' }, refunds: [], closedAt: null },
      paidAt: expect.any(Date) as Date,
      lines: [{ sku: 'apple', quantity: 2, unitAmount: 5 }],
      attempts: [{ provider: 'fake', reference: `r-${id}`, status: 'PAID', paidAmount: 1_999, paidSource: 'report' }],
      reservations: [{ sku: 'apple', quantity: 2, state: 'COMMITTED' }],
    });
    expect(order.history.map(({ toStatus }) => toStatus)).toEqual(expect.arrayContaining(['PENDING', 'PAID']));
  });

  it('are found by their columns, and from the other side', async () => {
    const id = await placed();
    const where = { order: { id, amount: MoreThan(1_000) } };
    const [attempt] = await host.getRepository(PaymentAttemptEntity).find({ where, relations: { order: true } });
    expect(attempt).toMatchObject({ status: 'OPEN', merchantAccount: '', order: { id, status: 'PENDING' } });
    const stock = await host.getRepository(StockEntity).findOneByOrFail({ sku: 'apple' });
    expect(stock).toMatchObject({ merchantId: null, ...(await stockOf(shop, 'apple')) });
    const report = { orderId: 'nobody', provider: 'fake', reference: 'x-1', amount: 7, currency: 'EUR' };
    await shop.markPaid.execute(report);
    const rows = await host.getRepository(UnmatchedPaymentEntity).findBy({ reason: 'unknown-order' });
    expect(rows).toMatchObject([{ orderId: 'nobody', amount: 7, handling: 'kept', source: 'report' }]);
  });

  it('are injected as repositories of a NestJS module', async () => {
    const { url } = shop.database;
    const root = TypeOrmModule.forRoot({ type: 'postgres', url, entities: [...orderEntities()] });
    const imports = [root, TypeOrmModule.forFeature([OrderEntity])];
    const app = await Test.createTestingModule({ imports }).compile();
    const id = await placed();
    const orders = app.get<Repository<OrderEntity>>(getRepositoryToken(OrderEntity));
    expect(await orders.findOneBy({ id })).toMatchObject({ id, status: 'PENDING', autoClose: true });
    await app.close();
  });

  it('write no column, and are left alone by `synchronize`', async () => {
    const id = await placed();
    const orders = host.getRepository(OrderEntity);
    const order = await orders.findOneByOrFail({ id });
    await orders.save({ ...order, status: 'CLOSED' as const, amount: 1 });
    expect(await orders.findOneByOrFail({ id })).toMatchObject({ status: 'PENDING', amount: 1_999 });
    const { upQueries } = await host.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });
});
