import { type Ring } from '../contestant';
import { checkClosed, type Closed } from '../product/check-closed';
import { newOrder } from '../product/new-orders';
import { openShop, placeInBulk } from '../product/open-shop';
import { RunBooks } from '../product/run-books';

const BULK = 500;

/** Places orders that are overdue when this resolves, without any broker, for somebody else to close. */
export async function placeOverdue(ring: Ring, prefix: string, count: number): Promise<void> {
  const shop = await openShop(ring, 'none');
  const books = await RunBooks.open(ring);
  try {
    const expiresAt = new Date(Math.ceil(await books.now()));
    await placeInBulk(
      shop,
      Array.from({ length: count }, (_, n) => newOrder(prefix, n, { expiresAt })),
      BULK,
    );
    await books.checkpoint();
  } finally {
    await shop.close();
    await books.close();
  }
}

/** Checks what a floor has closed, as for the product. */
export async function checkFloor(ring: Ring, prefix: string, count: number): Promise<Closed> {
  const books = await RunBooks.open(ring);
  try {
    return await checkClosed(books, prefix, count);
  } finally {
    await books.close();
  }
}
