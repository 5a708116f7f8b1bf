import { Controller, Get, type INestApplication, Param, VersioningType } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { OperationsModule, OrderTimeoutModule } from '../../src';
import { createDatabase, type TestDatabase } from '../support/database';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { blankProvider } from './blank-provider';
import { type AdapterName, openHost, type RunningHost } from './open-host';

/** A route of the host that has the same name as ours. */
@Controller('orders')
class OrdersOfHost {
  @Get(':id')
  read(@Param('id') id: string): string {
    return `order ${id} of the host`;
  }
}

describe.each(['express', 'fastify'] as const)('the routes in a host on %s', (adapter: AdapterName) => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let host: RunningHost | undefined;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  });
  afterEach(async () => {
    await host?.app.close();
    host = undefined;
  });
  afterAll(async () => {
    await database.drop();
    await vhost.drop();
  });

  async function open(path: string, configure: (app: INestApplication) => void): Promise<RunningHost['call']> {
    const module = OrderTimeoutModule.forRootAsync({
      http: true,
      path,
      useFactory: () => ({
        dataSource: database.dataSource,
        rabbit: { urls: [vhost.url], queueType: 'classic' as const },
        transport: 'none' as const,
        providers: [blankProvider],
        apiKeys: 'open' as const,
      }),
    });
    const operations = RouterModule.register([{ path: 'internal', module: OperationsModule }]);
    const imports = [module, OperationsModule, operations];
    host = await openHost({ adapter, imports, controllers: [OrdersOfHost], configure });
    return host.call;
  }

  it('begin with the path, so that the host keeps its own', async () => {
    const call = await open('shop/v1', () => undefined);
    await call('put', '/shop/v1/inventory/pear', { onHand: 1 }).expect(200);
    await call('get', '/shop/v1/orders/nobody').expect(404, /ORDER_NOT_FOUND/);
    await call('get', '/shop/v1/orders').expect(200, { orders: [], next: null });
    await call('post', '/shop/v1/orders/bulk/actions/close', '{}').expect(400, /VALIDATION_FAILED/);
    await call('post', '/shop/v1/payments/posting/notify', '{}').expect(401, /rejected/);
    await call('get', '/orders/7').expect(200, /order 7 of the host/);
    await call('get', '/inventory/pear').expect(404, /Cannot GET/);
    await call('get', '/internal/health/live').expect(200);
    await call('get', '/internal/metrics').expect(200, /order_timeout_database_up/);
  });

  it('follow the global prefix', async () => {
    const call = await open('/shop/', (app) => app.setGlobalPrefix('api'));
    await call('get', '/api/shop/orders/nobody').expect(404, /ORDER_NOT_FOUND/);
    await call('get', '/api/orders/7').expect(200);
    await call('get', '/api/internal/health/live').expect(200);
  });

  it.each([
    ['of the URI', { type: VersioningType.URI, defaultVersion: '7' }],
    ['of a header', { type: VersioningType.HEADER, header: 'x-version', defaultVersion: '7' }],
    ['of the media type', { type: VersioningType.MEDIA_TYPE, key: 'v=', defaultVersion: '7' }],
  ] as const)('have no version %s, which a payment provider would not send', async (_, versioning) => {
    const call = await open('shop', (app) => app.enableVersioning(versioning));
    await call('post', '/shop/payments/posting/notify', '{}').expect(401);
    await call('get', '/shop/orders/nobody').expect(404, /ORDER_NOT_FOUND/);
    await call('post', '/shop/orders/bulk/actions/cancel', '{}').expect(400, /VALIDATION_FAILED/);
    await call('get', '/internal/health/live').expect(200);
  });
});

describe('the path of the routes', () => {
  const options = { dataSource: {} as TestDatabase['dataSource'], rabbit: { urls: [] } };

  it.each([' ', 'a b', ':tenant', 'a//b', '*', 'a?b'])('cannot be %j', (path) => {
    expect(() => OrderTimeoutModule.forRoot({ ...options, http: true, path })).toThrow(
      `path must be segments such as "shop/v1", not ${JSON.stringify(path)}`,
    );
  });

  it('needs routes', () => {
    expect(() => OrderTimeoutModule.forRoot({ ...options, path: 'shop' })).toThrow('path needs http: true');
  });
});
