import { type Page } from 'playwright-core';

export const reason = 'the buyer called';

/** Fills in the open dialog, confirms, and waits until it is gone. */
export async function confirm(page: Page, button: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(reason);
  await dialog.getByRole('button', { name: button, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}
