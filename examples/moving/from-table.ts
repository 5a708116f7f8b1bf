import { type DataSource } from 'typeorm';

interface PendingOrder {
  readonly orderId: string;
  readonly dueAt: Date;
}

const NEXT_PAGE = `
  SELECT id AS "orderId", expires_at AS "dueAt"
    FROM orders
   WHERE status = 'pending' AND id > $1
   ORDER BY id LIMIT 1000`;

/** Reads the orders that wait, in the order of their ids. */
export async function* fromTable(dataSource: DataSource): AsyncGenerator<PendingOrder[]> {
  let last = '';
  for (;;) {
    const page = await dataSource.query<PendingOrder[]>(NEXT_PAGE, [last]);
    if (page.length === 0) return;
    yield page;
    last = page.at(-1)?.orderId ?? last;
  }
}
