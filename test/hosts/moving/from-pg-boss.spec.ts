import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fromPgBoss } from '../../../examples/moving/from-pg-boss';
import { ImportTarget, pendingOrders } from '../../support/import-target';

const PROGRAM = join(__dirname, 'programs/send-with-pg-boss.mjs');

describe('the import from pg-boss', () => {
  let target: ImportTarget;

  beforeAll(async () => {
    target = await ImportTarget.open();
  });
  afterAll(() => target.close());

  it('takes every job of the queue that waits, with its deadline', async () => {
    const orders = pendingOrders();
    const { status, stderr } = spawnSync(process.env.OT_BENCH_NODE ?? '', [PROGRAM], {
      env: { ...process.env, DATABASE_URL: target.database.url },
      input: JSON.stringify(orders),
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    expect(await target.import(fromPgBoss(target.database.dataSource, 'close-order'))).toBe(2_500);
    expect(await target.pending()).toEqual(orders);
  });
});
