import { type Page } from 'playwright-core';
import { type OrderSummary } from '../../../packages/operator-page/src/api/contract';
import { type WatchedDemo } from '../../support/watched-demo';
import { click, SHOW_POINTER } from './pointer';

/** Long enough for orders that were paid, closed, and parked. */
export const WARM_UP_MS = 55_000;
/** The order is closed in the middle of its scene. */
const CLOSES_AFTER_MS = { min: 5_000, max: 10_000 };

export async function signIn(page: Page, { address, key }: Pick<WatchedDemo, 'address' | 'key'>): Promise<void> {
  await page.goto(address);
  await page.getByLabel('Operator key').fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Overview' }).waitFor();
  await page.evaluate(SHOW_POINTER);
}

/** What a person does who sees the page for the first time: 30 s. */
export async function takeTour(page: Page): Promise<void> {
  await page.waitForTimeout(7_500);
  await click(page, page.getByRole('link', { name: /^Pending/ }));
  await page.waitForTimeout(1_500);
  const id = await soonClosed(page);
  await click(page, page.getByRole('link', { name: id, exact: true }));
  await page.locator('.order-state').getByText('Closed', { exact: true }).waitFor({ timeout: 20_000 });
  await page.waitForTimeout(2_500);
  await click(page, page.getByRole('link', { name: /^Parked timeouts/ }));
  await page.waitForTimeout(2_700);
  await click(page, page.getByRole('link', { name: /^Unmatched payments/ }));
  await page.waitForTimeout(2_700);
}

/** An order of the list that nobody pays in time, a few seconds before its deadline. */
async function soonClosed(page: Page): Promise<string> {
  for (;;) {
    const now = Date.now();
    const at = (ms: number): string => new Date(now + ms).toISOString();
    const { min, max } = CLOSES_AFTER_MS;
    const query = new URLSearchParams({ status: 'PENDING', expiresFrom: at(min), expiresTo: at(max) });
    const path = new URL(`api/orders?${query.toString()}`, page.url()).href;
    const answer = await page.request.get(path);
    const { orders } = (await answer.json()) as { orders: OrderSummary[] };
    for (const { id } of orders.filter((order) => /-(never-starts|never-pays|pays-too-late)$/.test(order.id))) {
      if ((await page.getByRole('link', { name: id, exact: true }).count()) > 0) return id;
    }
    await page.waitForTimeout(200);
  }
}
