import { readFileSync } from 'node:fs';
import { type Page } from 'playwright-core';
import { type Looks } from '../browser';
import { expectSamePicture } from '../expect-same-picture';
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
    });
  });

  it.each<[string, string, Looks]>([
    ['now', '#/now', {}],
    ['now-dark-zh', '#/now', { colorScheme: 'dark', locale: 'zh-CN' }],
    ['orders', '#/orders?status=PENDING', {}],
    ['order', '#/order/o-2030-03-01-70412', {}],
    ['order-phone', '#/order/o-2030-03-01-70412', { width: 390, height: 844 }],
    ['parked', '#/parked', {}],
  ])('looks as approved: %s', async (name, hash, looks) => {
    const { page } = await stage.open(hash, looks);
    expectSamePicture(name, await page.screenshot());
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
