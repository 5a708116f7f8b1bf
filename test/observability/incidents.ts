import { connect } from 'amqplib';
import { anOrder, KEYS, PREFIX } from '../e2e/running-service';
import { answerOf } from '../support/until';
import { httpJson, type JsonAnswer } from '../support/shop/http-json';
import { BrokenBank } from './broken-bank';
import { type ScrapedService } from './scraped-service';
import { untilRecorded } from './until-recorded';

const LIMIT_MS = 30_000;

/** What goes wrong in a shop, each thing once. */
export class Incidents {
  constructor(private readonly stage: ScrapedService) {}

  /** A provider does not answer; its breaker opens. */
  async providerAway(): Promise<void> {
    for (let count = 0; count < 6; count += 1) await this.orderAtBank(`away-${count}`);
    await untilRecorded(this.stage.prometheus, 'order_timeout_provider_breaker == 2');
  }

  async forgedAnswer(): Promise<void> {
    await this.orderAtBank('forged');
  }

  /** Nobody knows the provider of an order. Its look-ups are cut short, as the back-off takes minutes. */
  async parkedTimeout(): Promise<void> {
    const attempt = { provider: 'nobody', reference: 'ref' };
    await this.call('POST', '/orders', anOrder({ id: 'parked', paymentWindowMs: 1, attempt }));
    await this.untilRow(`SELECT 1 FROM order_timeout.timeout WHERE key = 'parked' AND attempts > 0`);
    await this.stage.database.dataSource.query(
      `UPDATE order_timeout.timeout SET attempts = 4, next_attempt_at = now() WHERE key = 'parked'`,
    );
    await this.untilRow(`SELECT 1 FROM order_timeout.timeout WHERE key = 'parked' AND state = 'parked'`);
  }

  async latePayment(): Promise<void> {
    const order = anOrder({ id: 'late', paymentWindowMs: 1 });
    await this.call('POST', '/orders', order);
    await this.untilRow(`SELECT 1 FROM order_timeout.orders WHERE id = 'late' AND status = 'CLOSED'`);
    const { amount, currency } = order;
    await this.call('POST', '/orders/late/paid', { provider: 'p', reference: 'late', amount, currency });
  }

  /** A timeout whose wake-up is lost: there was none. */
  async lostWakeUp(): Promise<void> {
    await this.stage.database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       VALUES ('order.payment', 'lost', 1, now(), now())`,
    );
    await this.untilRow(`SELECT 1 WHERE NOT EXISTS (SELECT FROM order_timeout.timeout WHERE key = 'lost')`);
  }

  /** An operator pauses a kind that this shop does not use. */
  async pausedKind(): Promise<void> {
    const pause = { by: 'anna', reason: 'maintenance', at: new Date().toISOString() };
    await this.stage.database.dataSource.query(
      'INSERT INTO order_timeout.engine_setting (name, value) VALUES ($1, $2)',
      ['control:kind:order.reminder', JSON.stringify({ pause })],
    );
  }

  async unreadableMessage(): Promise<void> {
    const connection = await connect(this.stage.broker.amqpUrl);
    const channel = await connection.createConfirmChannel();
    channel.sendToQueue(`${PREFIX}.work.order.payment`, Buffer.from('no wake-up'));
    await channel.waitForConfirms();
    await connection.close();
  }

  async databaseAway(): Promise<void> {
    const { gate, prometheus } = this.stage;
    await gate.shut();
    await untilRecorded(prometheus, 'order_timeout_database_up == 0');
    await untilRecorded(prometheus, 'order_timeout_away_total > 0');
    await gate.reopen();
  }

  private async orderAtBank(reference: string): Promise<void> {
    const attempt = { provider: BrokenBank.provider, reference };
    await this.call('POST', '/orders', anOrder({ id: reference, paymentWindowMs: 500, attempt }));
  }

  private async call(method: string, path: string, body: object): Promise<void> {
    const { status, text } = await this.send(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  }

  private send(method: string, path: string, body: object): Promise<JsonAnswer> {
    return httpJson(method, this.stage.service.url + path, body, { 'x-api-key': KEYS.all });
  }

  private async untilRow(sql: string): Promise<void> {
    await answerOf(sql, LIMIT_MS, undefined, async () => {
      const rows = await this.stage.database.dataSource.query<unknown[]>(sql);
      return rows.length > 0 ? true : undefined;
    });
  }
}
