import { type Server } from 'node:http';
import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import request from 'supertest';
import { OperationsModule, OrderTimeoutHealthIndicator, OrderTimeoutModule } from '../../../src';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { connectTo, createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

@Controller('healthz')
class HostHealth {
  constructor(
    private readonly health: HealthCheckService,
    private readonly orders: OrderTimeoutHealthIndicator,
  ) {}

  @Get()
  check() {
    return this.health.check([() => this.orders.isHealthy('orders')]);
  }
}

describe('the health check of a host that uses Terminus', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let gate: TcpProxy;
  let app: INestApplication;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    gate = await TcpProxy.open(database.url);
    const dataSource = await connectTo(gate.url);
    const rabbit = { urls: [vhost.url], queueType: 'classic' as const };
    const ours = OrderTimeoutModule.forRoot({ dataSource, rabbit, transport: 'none' });
    @Module({ imports: [ours, OperationsModule, TerminusModule.forRoot({ logger: false })], controllers: [HostHealth] })
    class Host {}
    app = await NestFactory.create(Host, { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
  });

  afterAll(async () => {
    gate.accept();
    await app.close();
    await gate.shut();
    await database.drop();
    await vhost.drop();
  });

  const check = (): request.Test => request(app.getHttpServer() as Server).get('/healthz');

  it('shows the state of the engine', async () => {
    await until(async () => (await check()).status === 200);
    const answer = await check();
    expect(answer.body).toMatchObject({
      status: 'ok',
      info: { orders: { status: 'up', database: 'up', messagePath: 'off' } },
    });
  });

  it('fails while the database is unavailable', async () => {
    gate.refuse();
    const answer = await check().expect(503);
    expect(answer.body).toMatchObject({
      status: 'error',
      error: { orders: { status: 'down', readiness: 'not-ready' } },
    });
  });
});
