import { type DataSource } from 'typeorm';

interface PendingOrder {
  readonly orderId: string;
  readonly dueAt: Date;
}

const NEXT_PAGE = `
  SELECT id, data ->> 'orderId' AS "orderId", start_after AS "dueAt"
    FROM pgboss.job
   WHERE name = $1 AND state IN ('created', 'retry') AND id > $2
   ORDER BY id LIMIT 1000`;

/** Reads the jobs of a queue that wait, in the order of their ids. */
export async function* fromPgBoss(dataSource: DataSource, queue: string): AsyncGenerator<PendingOrder[]> {
  let last = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const page = await dataSource.query<(PendingOrder & { id: string })[]>(NEXT_PAGE, [queue, last]);
    if (page.length === 0) return;
    yield page;
    last = page.at(-1)?.id ?? last;
  }
}
