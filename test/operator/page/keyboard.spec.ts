import { until } from '../../support/engine';
import { KEY } from '../recorded-api';
import { overview } from '../recorded/overview';
import { Stage } from '../stage';

describe('the operator page', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.build();
  });
  afterAll(() => stage.close());
  afterEach(async () => {
    expect(await stage.tidy()).toEqual([]);
  });

  const focused = 'document.activeElement.textContent';

  it('is used with the keyboard alone: sign in, list, order, action', async () => {
    stage.api.session = null;
    const { page } = await stage.open('');
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This key is not valid.').waitFor();
    await page.keyboard.type(KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();

    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    expect(await page.evaluate(focused)).toBe('Orders');
    await page.getByRole('link', { name: 'o-2030-03-01-70412' }).waitFor();
    await page.keyboard.press('j');
    expect(await page.evaluate(focused)).toBe('o-2030-03-01-70412');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Order o-2030-03-01-70412', level: 1 }).waitFor();

    const opener = page.getByRole('button', { name: 'Close the order now' });
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Close the order now' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate(focused)).toBe('Close the order now');
  });

  it('begins with a link to its content', async () => {
    const { page } = await stage.open('#/orders');
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(focused)).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(focused)).toBe('Orders');
    expect(page.url()).toContain('#/orders');
  });

  it('leaves the keys to somebody who types', async () => {
    const { page } = await stage.open('#/now');
    await page.keyboard.press('/');
    await page.keyboard.type('go?r');
    expect(await page.getByRole('searchbox').inputValue()).toBe('go?r');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    await page.locator('main:not(:has([aria-busy]))').waitFor();
    expect(stage.api.calls.filter(({ path }) => path === 'orders').map(({ query }) => query.get('q'))).toEqual([
      'go?r',
    ]);
  });

  it('changes its language at once, and keeps it', async () => {
    const { page } = await stage.open('#/parked');
    await page.getByLabel('Language').selectOption('zh');
    await page.getByRole('heading', { name: '搁置的超时任务', level: 1 }).waitFor();
    await page.locator('html[lang="zh-CN"]').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '搁置的超时任务', level: 1 }).waitFor();
  });

  it('is dark on request, whatever the system says', async () => {
    const { page } = await stage.open('#/now');
    const isPainted = async (color: string) =>
      (await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')) === color;
    await until(() => isPainted('rgb(245, 246, 248)'));
    await page.getByLabel('Colors').selectOption('dark');
    await until(() => isPainted('rgb(15, 19, 24)'));
  });

  it('says that the service does not answer, and shows what it knew', async () => {
    const { page } = await stage.open('#/now');
    stage.api.answers.set('overview', { status: 503, json: { code: 'DATABASE_UNAVAILABLE', detail: 'away' } });
    await page.keyboard.press('r');
    await page.getByText('The database is not available.').waitFor();
    await page.getByText('1,264').waitFor();
    stage.api.answers.clear();
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('The database is not available.').waitFor({ state: 'detached' });
  });

  it('refreshes by itself', async () => {
    const { page } = await stage.open('#/now');
    const orders = { ...overview.orders, pending: 4321 };
    stage.api.answers.set('overview', { status: 200, json: { ...overview, orders } });
    await page.getByText('4,321').waitFor();
  });

  it('asks for the key again when the session has ended, and goes on where it was', async () => {
    const { page } = await stage.open('#/unmatched');
    stage.api.session = null;
    await page.keyboard.press('r');
    await page.getByText('Your session has ended. Sign in again.').waitFor();
    await page.getByLabel('Operator key').fill(KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Unmatched payments', level: 1 }).waitFor();
  });
});
