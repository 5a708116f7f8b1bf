import { Test, type TestingModule } from '@nestjs/testing';
import { Inventory, Orders } from 'nestjs-order-timeout';
import { OrderTimeoutTestKit } from 'nestjs-order-timeout/testing';
import { DataSource } from 'typeorm';
import { Checkout, ShopModule } from './shop.module';

const MINUTE_MS = 60_000;

describe('Checkout', () => {
  let app: TestingModule;
  let kit: OrderTimeoutTestKit;
  let orders: Orders;

  beforeAll(async () => {
    const builder = Test.createTestingModule({ imports: [ShopModule] });
    app = await OrderTimeoutTestKit.override(builder, { schema: 'checkout_test' }).compile();
    await app.init();
    kit = OrderTimeoutTestKit.from(app);
    orders = app.get(Orders);
  });

  afterAll(() => app.close());

  beforeEach(async () => {
    await kit.clear();
    await app.get(Inventory).setStock(app.get(DataSource).manager, 'apple', 10);
    await app.get(Checkout).buyTwoApples('o-1');
  });

  const available = async (): Promise<number | undefined> => {
    const [apples] = await app.get(Inventory).read(app.get(DataSource).manager, ['apple']);
    return apples?.available;
  };

  it('reminds the buyer, and then closes the order and its payment, and releases the apples', async () => {
    await kit.runFor(25 * MINUTE_MS);
    expect(await kit.events.typesOf('o-1')).toEqual(['order.expiring']);
    expect(await available()).toBe(8);

    const order = await kit.expire('o-1');
    expect(order.status).toBe('CLOSED');
    expect(await available()).toBe(10);
    expect(await kit.events.typesOf('o-1')).toEqual(['order.expiring', 'order.closing', 'order.closed']);
    expect(kit.payments('bank').calls.map(({ call }) => call)).toContain('close');
  });

  it('sells the apples if the buyer has paid, even if nobody told us', async () => {
    kit.payments('bank').pay('pay-o-1');
    const order = await kit.expire('o-1');
    expect(order.status).toBe('PAID');
    expect(await available()).toBe(8);
  });

  it('waits for a provider that does not know, and looks the payment up again', async () => {
    kit.payments('bank').script('pay-o-1', { query: [{ type: 'UNKNOWN', reason: 'maintenance' }] });
    expect((await kit.expire('o-1')).status).toBe('CLOSING');
    await kit.runFor(MINUTE_MS);
    expect((await orders.get('o-1'))?.status).toBe('CLOSED');
  });

  it('takes the notification of a payment', async () => {
    const bank = kit.payments('bank');
    bank.pay('pay-o-1', { amount: 4200n, currency: 'EUR' });
    await orders.handleWebhook('bank', bank.notification('pay-o-1'));
    expect((await orders.get('o-1'))?.status).toBe('PAID');
  });
});
