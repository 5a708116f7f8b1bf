import { connect } from 'amqplib';
import { runCommand, runJson } from '../../support/command-line';
import { until } from '../../support/engine';
import { PREFIX } from '../running-service';
import { openSilentService, type SilentService } from './silent-service';

interface Changed {
  readonly code: number;
  readonly outcome: string;
  readonly dryRun: boolean;
  readonly order: { readonly id: string; readonly status: string; readonly expiresAt: string };
}

interface Failed {
  readonly code: number;
  readonly error: { readonly code?: string; readonly message: string };
}

interface Count {
  readonly code: number;
  readonly count: number;
}

describe('order-timeout', () => {
  let service: SilentService;

  beforeAll(async () => {
    service = await openSilentService();
  });

  afterAll(() => service.drop());

  const json = <T>(...args: string[]): Promise<T & { code: number }> => runJson<T>(service.environment, ...args);
  const text = async (...args: string[]): Promise<string> => (await runCommand(service.environment, ...args)).out;
  const sql = <T>(statement: string): Promise<T> => service.database.dataSource.query(statement);

  describe('orders', () => {
    it('lists orders, as a table and as JSON', async () => {
      const id = await service.place({ merchantId: 'shop-a' });
      await service.place({ merchantId: 'shop-b' });
      const args = ['orders', 'list', '--merchant', 'shop-a', '--status', 'PENDING'];
      expect(await text(...args)).toMatch(/^id +merchant +status +amount +currency +deadline$/m);
      const { code, ...listed } = await runJson<Record<string, object>>(service.environment, ...args);
      expect(code).toBe(0);
      const instant = expect.stringMatching(/^\d{4}-.*Z$/) as string;
      const shape = { id, merchantId: 'shop-a', status: 'PENDING', amount: 1_999, currency: 'EUR' };
      expect(Object.values(listed)).toEqual([{ ...shape, expiresAt: instant, createdAt: instant }]);
    });

    it('pages through the list', async () => {
      await service.place();
      const first = await runCommand(service.environment, 'orders', 'list', '--limit', '1', '--json');
      const [one] = JSON.parse(first.out) as { id: string }[];
      const rest = await runCommand(service.environment, 'orders', 'list', '--after', one?.id ?? '', '--json');
      expect((JSON.parse(rest.out) as { id: string }[]).map(({ id }) => id)).not.toContain(one?.id);
    });

    it('shows an order with its history', async () => {
      const id = await service.place();
      const shown = await json<{ order: { id: string }; history: { to: string }[] }>('orders', 'show', id);
      expect(shown.order.id).toBe(id);
      expect(shown.history.map(({ to }) => to)).toEqual(['PENDING']);
      expect(await text('orders', 'show', id)).toMatch(/^status +PENDING$/m);
    });

    it('moves a deadline, and only shows it with --dry-run', async () => {
      const id = await service.place();
      const deadline = async (): Promise<string> => (await json<Changed>('orders', 'show', id)).order.expiresAt;
      const before = await deadline();
      const dry = await json<Changed>('orders', 'extend', id, '--by', '5m', '--dry-run');
      expect(Date.parse(dry.order.expiresAt) - Date.parse(before)).toBe(300_000);
      expect(await deadline()).toBe(before);
      const done = await json<Changed>('orders', 'extend', id, '--by', '5m');
      expect(done).toMatchObject({ code: 0, outcome: 'extended', dryRun: false });
      expect(await deadline()).toBe(dry.order.expiresAt);
    });

    it('cancels an order, and the history names the operator', async () => {
      const id = await service.place();
      expect(await json<Changed>('orders', 'cancel', id, '--actor', 'ada', '--dry-run')).toMatchObject({
        dryRun: true,
      });
      expect(await service.statusOf(id)).toBe('PENDING');
      expect((await json<Changed>('orders', 'cancel', id, '--actor', 'ada')).outcome).toBe('cancelled');
      expect(await service.statusOf(id)).toBe('CANCELLED');
      const { history } = await json<{ history: { cause: string; actor: string }[] }>('orders', 'show', id);
      expect(history.at(-1)).toMatchObject({ cause: 'operator', actor: 'ada' });
    });

    it('closes an order', async () => {
      const id = await service.place();
      expect((await json<Changed>('orders', 'close', id, '--reason', 'asked for')).outcome).toBe('closed');
      expect(await service.statusOf(id)).toBe('CLOSED');
    });

    it('refuses what the use case refuses, with its code and exit code 2', async () => {
      const unknown = await json<Failed>('orders', 'cancel', 'nothing');
      expect(unknown).toMatchObject({ code: 2, error: { code: 'ORDER_TIMEOUT/ORDER_NOT_FOUND' } });
      expect((await json<Failed>('orders', 'show', 'nothing')).code).toBe(2);
    });

    it.each([
      ['an unknown option', ['orders', 'list', '--colour']],
      ['an unknown command', ['order', 'list']],
      ['a wrong duration', ['orders', 'extend', 'o-1', '--by', 'soon']],
      ['a missing argument', ['orders', 'show']],
    ])('ends with 2 for %s, and says so on standard error', async (_, args) => {
      const { code, out, err } = await runCommand(service.environment, ...args);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(/^error: /);
    });

    it('takes the variables that the service has beside its servers', async () => {
      const others = {
        OPERATOR_KEYS: `jane:${'a'.repeat(64)}:operate+money`,
        TRUST_PROXY: '1',
        WEBHOOK_URL: 'https://shop.example.com/hook',
        WEBHOOK_SECRETS: `whsec_${'A'.repeat(43)}=`,
      };
      for (const args of [
        ['orders', 'list'],
        ['timeouts', 'list'],
        ['parked', 'list'],
      ]) {
        const { code, err } = await runCommand({ ...service.environment, ...others }, ...args);
        expect({ code, err }).toEqual({ code: 0, err: '' });
      }
    });

    it('ends with 2 without a database, and does not repeat the password', async () => {
      const environment = { DATABASE_URL: 'postgresql://me:secret-word@127.0.0.1:1/x' };
      const { code, out, err } = await runCommand(environment, 'orders', 'list', '--json');
      expect(code).toBe(2);
      expect(JSON.parse(out)).toMatchObject({ error: { message: expect.stringContaining('ECONNREFUSED') as string } });
      expect(out + err).not.toContain('secret-word');
    });
  });

  describe('timeouts', () => {
    const park = (key: string): Promise<unknown> =>
      sql(`INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state, last_error)
           VALUES ('order.late-watch', '${key}', 1, now(), now(), 'parked', 'no answer')`);
    const stateOf = async (key: string): Promise<string> => {
      const [row] = await sql<{ state: string }[]>(`SELECT state FROM order_timeout.timeout WHERE key = '${key}'`);
      return row?.state ?? 'absent';
    };

    it('counts every kind, and lists one', async () => {
      const id = await service.place();
      expect(await text('timeouts', 'list')).toMatch(/^order\.payment +\d+ +0 +0$/m);
      const { out } = await runCommand(service.environment, 'timeouts', 'list', '--kind', 'order.payment', '--json');
      expect((JSON.parse(out) as { key: string }[]).map(({ key }) => key)).toContain(id);
    });

    it('counts as overdue what waits past its deadline, as for a paused provider', async () => {
      const late = await service.place();
      const of = `WHERE key = '${late}' AND kind = 'order.payment'`;
      await sql(`UPDATE order_timeout.timeout SET due_at = now(), next_attempt_at = now() + interval '1 hour' ${of}`);
      expect(await text('timeouts', 'list')).toMatch(/^order\.payment +\d+ +1 +0$/m);
      const swept = await json<{ kinds: unknown[] }>('sweep', '--once', '--dry-run');
      expect(swept.kinds).toEqual([]);
      await sql(`DELETE FROM order_timeout.timeout ${of}`);
    });

    it('shows a timeout', async () => {
      const id = await service.place();
      const shown = await json<{ state: string; attempts: number }>('timeouts', 'show', `order.payment/${id}`);
      expect(shown).toMatchObject({ code: 0, kind: 'order.payment', key: id, state: 'pending', attempts: 0 });
    });

    it('makes a parked timeout run, but not with --dry-run', async () => {
      await park('watch-1');
      await json('timeouts', 'retry', 'order.late-watch/watch-1', '--dry-run');
      expect(await stateOf('watch-1')).toBe('parked');
      expect(await json<Count>('timeouts', 'retry', 'order.late-watch/watch-1')).toMatchObject({ code: 0, count: 1 });
      // The order does not exist, so its watch has nothing to do.
      await until(async () => (await stateOf('watch-1')) === 'absent');
    });

    it('gives a timeout another time, except that of an order', async () => {
      await sql(`INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, payload)
                 VALUES ('order.late-watch', 'watch-2', 1, now() + interval '1 hour', now() + interval '1 hour', '{"a":1}')`);
      await json('timeouts', 'reschedule', 'order.late-watch/watch-2', '--at', '2100-01-01T00:00:00Z');
      const moved = await json<{ dueAt: string; payload: object }>('timeouts', 'show', 'order.late-watch/watch-2');
      expect(moved).toMatchObject({ dueAt: '2100-01-01T00:00:00.000Z', payload: { a: 1 } });
      const refused = await json<Failed>('timeouts', 'reschedule', 'order.payment/o-1', '--in', '5m');
      expect(refused).toMatchObject({ code: 2, error: { code: 'ORDER_TIMEOUT/COMMAND_REFUSED' } });
      expect(refused.error.message).toContain('orders extend o-1');
    });

    it('ends with 2 if there is no such timeout', async () => {
      const { error } = await json<Failed>('timeouts', 'show', 'order.payment/nothing');
      expect(error.message).toContain('there is no timeout order.payment/nothing');
    });

    describe('parked', () => {
      it('lists and discards parked timeouts', async () => {
        await park('watch-3');
        const listed = await json<{ timeouts: { key: string; lastError: string }[] }>('parked', 'list', 'timeouts');
        expect(listed.timeouts).toEqual([expect.objectContaining({ key: 'watch-3', lastError: 'no answer' })]);
        const dry = await json<Count>('parked', 'discard', 'timeouts', 'order.late-watch/watch-3', '--dry-run');
        expect([dry.count, await stateOf('watch-3')]).toEqual([1, 'parked']);
        await json('parked', 'discard', 'timeouts', 'order.late-watch/watch-3');
        expect(await stateOf('watch-3')).toBe('absent');
      });

      it('refuses to discard the timeout that closes an order, unless forced', async () => {
        const id = await service.place();
        await sql(`UPDATE order_timeout.timeout SET state = 'parked' WHERE kind = 'order.payment' AND key = '${id}'`);
        const refused = await json<Failed>('parked', 'discard', 'timeouts', `order.payment/${id}`);
        expect(refused).toMatchObject({ code: 2, error: { code: 'ORDER_TIMEOUT/COMMAND_REFUSED' } });
        expect((await json<Count>('parked', 'discard', 'timeouts', `order.payment/${id}`, '--force')).count).toBe(1);
      });

      it('wants ids or --all', async () => {
        expect((await json<Failed>('parked', 'retry', 'timeouts')).error.message).toContain('--all');
      });

      it.each(['retry', 'discard'])(
        'names what it should %s and does not find, and changes nothing',
        async (action) => {
          await park('watch-4');
          for (const [place, ...ids] of [
            ['timeouts', 'order.late-watch/watch-4', 'order.late-watch/nothing', 'malformed'],
            ['messages', 'm-0'],
            ['outbox', '00000000-0000-7000-8000-00000000000f', 'malformed'],
          ] as const) {
            const refused = await json<Failed>('parked', action, place, ...ids);
            expect(refused).toMatchObject({ code: 2, error: { code: 'ORDER_TIMEOUT/COMMAND_REFUSED' } });
            expect(refused.error.message).toContain(ids.filter((id) => !id.endsWith('watch-4')).join(', '));
            expect(refused.error.message).not.toContain('watch-4');
          }
          expect(await stateOf('watch-4')).toBe('parked');
          await json('parked', 'discard', 'timeouts', 'order.late-watch/watch-4');
        },
      );

      it('finds those of one kind behind a full page of others', async () => {
        await sql(`INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state)
                   SELECT kind, n::text, 1, now(), now(), 'parked' FROM (VALUES ('order.late-watch', 600), ('order.last', 3))
                     AS given(kind, most), generate_series(1, most) n`);
        const listed = async (...args: string[]): Promise<unknown[]> =>
          (await json<{ timeouts: unknown[] }>('parked', 'list', 'timeouts', ...args)).timeouts;
        expect(await listed('--about', 'order.late-watch', '--limit', '2')).toHaveLength(2);
        expect(await listed('--about', 'order.late-watch')).toHaveLength(100);
        expect(await listed('--about', 'order.late-watch', '--limit', '550')).toHaveLength(550);
        expect(await listed('--about', 'order.last')).toHaveLength(3);
        const shown = await runCommand(service.environment, 'parked', 'list', 'timeouts');
        expect(shown.out).toContain('timeouts: the first 100; --limit shows more');
        expect((await json<Count>('parked', 'discard', 'timeouts', '--all')).count).toBe(603);
      });

      it('finds messages about one command behind others, and changes all of more than 500', async () => {
        const connection = await connect(service.vhost.url);
        const channel = await connection.createConfirmChannel();
        for (let n = 0; n < 602; n++) {
          const body = Buffer.from('{"orderId":"never-placed"}');
          channel.publish(`${PREFIX}.parked`, n < 600 ? 'order.paid' : 'order.extended', body, { messageId: `p-${n}` });
        }
        await channel.waitForConfirms();
        await connection.close();
        const { messages } = await json<{ messages: unknown[] }>(
          'parked',
          'list',
          'messages',
          '--about',
          'order.extended',
        );
        expect(messages).toHaveLength(2);
        const args = ['messages', '--all', '--about', 'order.paid'];
        expect((await json<Count>('parked', 'discard', ...args)).count).toBe(600);
        expect((await json<Count>('parked', 'discard', 'messages', '--all')).count).toBe(2);
      });

      it('sends a parked command again, and it is carried out', async () => {
        const connection = await connect(service.vhost.url);
        const channel = await connection.createConfirmChannel();
        const send = (body: object, id: string): unknown =>
          channel.publish(`${PREFIX}.commands`, 'order.cancelled', Buffer.from(JSON.stringify(body)), {
            messageId: id,
          });
        send({ orderId: 'placed-later' }, 'm-1');
        send({ orderId: 'never-placed' }, 'm-2');
        await channel.waitForConfirms();
        const listed = async (): Promise<{ id: string; code: string; body: string }[]> =>
          (await json<{ messages: { id: string; code: string; body: string }[] }>('parked', 'list', 'messages'))
            .messages;
        await until(async () => (await listed()).length === 2);
        expect((await listed()).map(({ id, code }) => [id, code]).sort()).toEqual([
          ['m-1', 'ORDER_NOT_FOUND'],
          ['m-2', 'ORDER_NOT_FOUND'],
        ]);
        await service.place({ id: 'placed-later' });
        expect((await json<Count>('parked', 'retry', 'messages', 'm-1', '--dry-run')).count).toBe(1);
        expect((await json<Count>('parked', 'retry', 'messages', 'm-1')).count).toBe(1);
        await until(async () => (await service.statusOf('placed-later')) === 'CANCELLED');
        expect((await json<Count>('parked', 'discard', 'messages', '--all')).count).toBe(1);
        expect(await listed()).toEqual([]);
        await connection.close();
      });

      it.each([
        ['a broker that is down', 'amqp://127.0.0.1:1', 2, /^messages: cannot be listed: .*ECONNREFUSED/m],
        ['no broker', 'none', 0, /^messages: 0 \(no broker is configured\)$/m],
      ])('lists the other places with %s', async (_, urls, code, line) => {
        await park('watch-5');
        const environment = { ...service.environment, RABBITMQ_URLS: urls, DELAY_TRANSPORT: 'auto' };
        const listed = await runJson<{ timeouts: { key: string }[]; messages?: []; failed?: object }>(
          ...[environment, 'parked', 'list'],
        );
        const shown = await runCommand(environment, 'parked', 'list');
        await json('parked', 'discard', 'timeouts', 'order.late-watch/watch-5');
        expect(listed.timeouts.map(({ key }) => key)).toEqual(['watch-5']);
        expect(listed.messages === undefined).toBe(listed.failed !== undefined);
        expect([listed.code, shown.code]).toEqual([code, code]);
        expect(shown.out).toContain('watch-5');
        expect(shown.out).toMatch(line);
      });

      it('sends a parked message of the outbox again', async () => {
        const id = '00000000-0000-7000-8000-000000000001';
        await sql(`INSERT INTO order_timeout.outbox (id, route, routing_key, body, parked_reason, available_at)
                   VALUES ('${id}', 'event', 'order.closed', '{}', 'too large', 'infinity')`);
        expect(await text('parked', 'list', 'outbox')).toContain('too large');
        expect((await json<Count>('parked', 'retry', 'outbox', '--all', '--about', 'order.paid')).count).toBe(0);
        expect((await json<Count>('parked', 'retry', 'outbox', '--all')).count).toBe(1);
        await until(
          async () => (await sql<unknown[]>(`SELECT 1 FROM order_timeout.outbox WHERE id = '${id}'`)).length === 0,
        );
      });
    });
  });

  describe('republish', () => {
    it('has a running instance publish everything again', async () => {
      await service.place({ paymentWindowMs: 30_000 });
      const dry = await json<{ outcome: null; pending: number }>('republish', '--dry-run');
      expect(dry).toMatchObject({ code: 0, outcome: null });
      expect(dry.pending).toBeGreaterThan(0);
      const done = await json<{ outcome: string; published: number }>('republish', '--wait');
      expect(done).toMatchObject({ code: 0, outcome: 'requested', published: expect.any(Number) as number });
      expect(done.published).toBeGreaterThan(0);
    });

    it('does not wait forever if no instance runs', async () => {
      const alone = await openSilentService();
      await alone.place();
      await alone.stop();
      const failed = await runJson<Failed>(alone.environment, 'republish', '--wait', '--patience', '1s');
      expect(failed.code).toBe(2);
      expect(failed.error.message).toContain('no instance has published anything for 1 s');
      await alone.drop();
    });
  });
});
