import { readFileSync } from 'node:fs';
import { type Page } from 'playwright-core';
import { type Looks } from '../browser';
import { expectSamePicture } from '../expect-same-picture';
import { overview } from '../recorded/overview';
import { Stage } from '../stage';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const VIEWS: readonly [name: string, hash: string][] = [
  ['now', '#/now'],
  ['orders', '#/orders?status=PENDING&expiresFrom=2030-03-01T12:00:00Z'],
  ['order', '#/order/o-2030-03-01-70412'],
  ['parked', '#/parked'],
  ['unmatched', '#/unmatched'],
  ['refunds', '#/refunds'],
  ['messages', '#/messages'],
];

const LOOKS: readonly [name: string, looks: Looks][] = [
  ['in English', {}],
  ['in Chinese and dark', { locale: 'zh-CN', colorScheme: 'dark' }],
  ['on a tablet', { width: 960 }],
  ['on a phone', { width: 390, height: 844 }],
  ['on a phone, in Chinese and dark', { width: 390, height: 844, locale: 'zh-CN', colorScheme: 'dark' }],
];

/** What axe finds that keeps somebody from using the page. */
async function barriersOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  );
  return found.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html ?? ''}`);
}

/** What sticks out of its panel. Wide tables scroll in their frames. */
function protrusionsOf(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('.panel')].flatMap((panel) => {
    const edge = panel.getBoundingClientRect().right + 1;
    const isOut = (part) => part.getBoundingClientRect().right > edge && !part.closest('.table-frame');
    return [...panel.querySelectorAll('*')].filter(isOut).map((part) => part.outerHTML);
  })`);
}

describe('a view of the operator page', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.build();
  });
  afterAll(() => stage.close());
  afterEach(async () => {
    expect(await stage.tidy()).toEqual([]);
  });

  describe.each(LOOKS)('%s', (_name, looks) => {
    it.each(VIEWS)('has no barrier and does not overflow: %s', async (_view, hash) => {
      const { page } = await stage.open(hash, looks);
      expect(await barriersOf(page)).toEqual([]);
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
      expect(overflow).toBeLessThanOrEqual(0);
      expect(await protrusionsOf(page)).toEqual([]);
    });
  });

  it.each<[file: string, hash: string, looks: Looks]>([
    ['docs/pictures/operator-now.png', '#/now', { width: 1280, height: 860 }],
    ['docs/pictures/operator-order.png', '#/order/o-2030-03-01-70412', { width: 1280, height: 700 }],
    ['test/operator/pictures/now-dark-zh.png', '#/now', { colorScheme: 'dark', locale: 'zh-CN' }],
    ['test/operator/pictures/now-phone.png', '#/now', { width: 390, height: 2_000 }],
    ['test/operator/pictures/orders.png', '#/orders?status=PENDING', {}],
    ['test/operator/pictures/order-phone.png', '#/order/o-2030-03-01-70412', { width: 390, height: 844 }],
    ['test/operator/pictures/parked.png', '#/parked', {}],
    ['test/operator/pictures/unmatched-dark.png', '#/unmatched', { colorScheme: 'dark' }],
  ])('looks as approved: %s', async (file, hash, looks) => {
    const { page } = await stage.open(hash, looks);
    expectSamePicture(file, await page.screenshot());
  });

  it('looks as approved in a dialog', async () => {
    const { page } = await stage.open('#/parked', { width: 900, height: 700 });
    await page.getByText('Extend all').click();
    await page.getByRole('dialog').waitFor();
    await page.getByLabel('New deadline in').blur();
    expectSamePicture('test/operator/pictures/dialog.png', await page.screenshot());
  });

  it('shows a number at which the service stops counting as at least that many', async () => {
    const orders = { ...overview.orders, pending: 10_001, closing: 50, partial: true };
    const due = { ...overview.due, nextMinute: 2_001, nextHour: [2_001, 5], overdue: 3 };
    stage.api.answers.set('overview', { status: 200, json: { ...overview, orders, due } });
    const { page } = await stage.open('#/now');
    const tiles = page.getByRole('region', { name: 'Orders', exact: true });
    for (const name of ['Pending 10,000+', 'Closing 50+', 'Due within a minute 2,000+', 'Overdue 3'])
      await tiles.getByRole('link', { name, exact: true }).waitFor();
    await page.getByText('2,006+ in total').first().waitFor();
  });

  it('has no barrier in its dialogs and at the sign-in', async () => {
    const { page } = await stage.open('#/order/o-2030-03-01-70412');
    await page.getByRole('button', { name: 'Extend the deadline' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await barriersOf(page)).toEqual([]);
    stage.api.session = null;
    const { page: other } = await stage.open('');
    expect(await barriersOf(other)).toEqual([]);
  });
});
