import { Injectable, Scope } from '@nestjs/common';
import { OnOrder, OnOrderInTransaction } from '../../../src';
import { TimeoutHandler } from '../../../src/public/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { startHost } from './listening-host';

@Injectable()
class Mailer {
  @OnOrder('paid')
  send(): void {}
}

@Injectable()
class OtherMailer {
  @OnOrder('closed', { name: 'Mailer.send' })
  send(): void {}
}

@Injectable({ scope: Scope.REQUEST })
class OfRequest {
  @OnOrder('paid')
  send(): void {}
}

@Injectable()
class Misnamed {
  @OnOrder('paid', { name: 'send mail' })
  send(): void {}
}

@Injectable()
class OutOfRange {
  @OnOrder('paid', { concurrency: 0, timeoutMs: 1, ...({ retries: 3 } as object) })
  send(): void {}
}

@TimeoutHandler('order-listener.Mailer.send')
class Impostor {
  handle(): Promise<void> {
    return Promise.resolve();
  }
}

describe('an application does not start with a listener', () => {
  let database: TestDatabase;
  let vhost: TestVhost;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  });
  afterAll(() => Promise.all([database.drop(), vhost.drop()]));

  it.each([
    ['whose name another one has', [Mailer, OtherMailer], /DUPLICATE_ORDER_LISTENER: .*"Mailer\.send"/],
    ['whose class is provided twice', [Mailer, { provide: 'again', useClass: Mailer }], /DUPLICATE_ORDER_LISTENER/],
    ['that belongs to a request', [OfRequest], /INVALID_ORDER_LISTENER: .*OfRequest\.send belongs to a request/],
    ['whose name cannot be a kind', [Misnamed], /INVALID_OPTIONS: .*"send mail" must match/],
    ['whose options are wrong', [OutOfRange], /3 problems: concurrency.*timeoutMs.*unknown option "retries"/],
    ['whose kind has a handler of the host', [Mailer, Impostor], /DUPLICATE_TIMEOUT_HANDLER: .*order-listener/],
  ])('%s', async (_, providers, message) => {
    await expect(startHost(database, vhost, providers)).rejects.toThrow(message);
  });

  it('with two decorators on a method', () => {
    const decorate = () => {
      class Twice {
        @OnOrder('paid')
        @OnOrderInTransaction('paid')
        send(): void {}
      }
      return Twice;
    };
    expect(decorate).toThrow(/INVALID_ORDER_LISTENER: .*Twice\.send has two decorators/);
  });

  it('that is gone, while events for it are undelivered', async () => {
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       VALUES ('order-listener.Gone.send', 'e', 1, now(), now())`,
    );
    await expect(startHost(database, vhost, [Mailer])).rejects.toThrow(
      /MISSING_TIMEOUT_HANDLER: .*order-listener\.Gone\.send/,
    );
  });
});
