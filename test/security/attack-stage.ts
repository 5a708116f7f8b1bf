import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openService, type RunningService } from '../e2e/running-service';
import { askRaw, type RawAnswer, type RawRequest } from './raw-http';
import { makePayers, type Payer } from './payers';

/** A running service with orders that nobody may touch, and the forged and real signatures of three providers. */
export interface AttackStage {
  readonly service: RunningService;
  readonly payers: readonly Payer[];
  ask(request: RawRequest | Buffer): Promise<RawAnswer>;
  /** Hash of every row that an attack could have changed. */
  fingerprint(): Promise<string>;
  close(): Promise<void>;
}

/** Ids of the orders that are there before the attack; each has an attempt at one of the providers. */
export const SEEDS = ['seed-alipay', 'seed-wechat-pay', 'seed-stripe'] as const;

/** An attack may place orders of its own, and those only. */
const UNTOUCHED = [
  "SELECT * FROM order_timeout.orders WHERE id LIKE 'seed-%' ORDER BY id",
  "SELECT * FROM order_timeout.order_line WHERE order_id LIKE 'seed-%' ORDER BY order_id, line_no",
  "SELECT * FROM order_timeout.payment_attempt WHERE order_id LIKE 'seed-%' ORDER BY provider, reference",
  "SELECT * FROM order_timeout.order_history WHERE order_id LIKE 'seed-%' ORDER BY order_id, version",
  "SELECT * FROM order_timeout.inventory WHERE sku LIKE 'seed-%' ORDER BY sku",
  "SELECT * FROM order_timeout.reservation WHERE order_id LIKE 'seed-%' ORDER BY order_id, sku",
  'SELECT * FROM order_timeout.unmatched_payment ORDER BY id',
  'SELECT * FROM order_timeout.refund ORDER BY 1',
  "SELECT kind, key, generation, due_at, state FROM order_timeout.timeout WHERE key LIKE 'seed-%' ORDER BY kind, key",
];

export async function openAttackStage(environment: Record<string, string> = {}): Promise<AttackStage> {
  const folder = mkdtempSync(join(tmpdir(), 'ot-attack-'));
  const payers = makePayers();
  const file = join(folder, 'providers.json');
  writeFileSync(file, JSON.stringify(payers.map(({ options }) => options)));
  const service = await openService({ PAYMENT_PROVIDERS_FILE: file, ...environment });
  await seed(service, payers);
  const { port } = service.app.getHttpServer().address() as AddressInfo;
  return {
    service,
    payers,
    ask: (request) => askRaw(port, request),
    fingerprint: () => fingerprint(service),
    close: async () => {
      await service.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function seed(service: RunningService, payers: readonly Payer[]): Promise<void> {
  await service.call('put', '/inventory/seed-apple', { onHand: 10 }).expect(200);
  for (const { name, reference, amount, currency } of payers) {
    const order = {
      id: `seed-${name}`,
      amount,
      currency,
      paymentWindowMs: 3_600_000,
      lines: [{ sku: 'seed-apple', quantity: 1, unitAmount: amount }],
      metadata: { note: 'left alone' },
      attempt: { provider: name, reference },
    };
    await service.call('post', '/orders', order).expect(201);
  }
}

async function fingerprint({ database }: RunningService): Promise<string> {
  const hash = createHash('sha256');
  for (const sql of UNTOUCHED) hash.update(JSON.stringify(await database.dataSource.query(sql)));
  return hash.digest('hex');
}

/** What a stack trace, a query or one of our paths looks like in an answer. */
export const LEAK =
  /\n\s+at |node_modules|\/src\/|\/dist\/|\.[jt]s:\d+|SELECT \*|INSERT INTO|QueryFailed|TypeError|RangeError|ECONN/;
