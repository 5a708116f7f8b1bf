import { randomBytes } from 'node:crypto';
import { type WebhookOptions } from '../../../src/webhooks';
import { resolveWebhookOptions } from '../../../src/webhooks';

const SECRET = `whsec_${randomBytes(32).toString('base64')}`;
const endpoint = (more: object = {}) => ({ name: 'crm', url: 'https://crm.example/hook', secrets: [SECRET], ...more });
const messageOf = (options: unknown): string => {
  try {
    resolveWebhookOptions(options as WebhookOptions);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the options of webhooks', () => {
  it('have the time limit and the schedule of Standard Webhooks by default, and all events', () => {
    const { endpoints, timeoutMs, retryDelaysMs } = resolveWebhookOptions({ endpoints: [endpoint()] });
    expect(endpoints).toMatchObject([{ concurrency: 10, allowPrivateNetwork: false }]);
    expect(endpoints[0]?.events).toHaveLength(10);
    expect(timeoutMs).toBe(15_000);
    expect(retryDelaysMs.map((ms) => ms / 1_000)).toEqual([
      5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ]);
  });

  it.each([
    ['a plain URL', { url: 'http://crm.example' }, /endpoints\.0\.url must be an https:/],
    ['a URL of another protocol', { url: 'ftp://crm.example' }, /url must be an https:/],
    ['a password in the URL', { url: 'https://me:pw@crm.example' }, /url must not contain a user or a password/],
    ['no secret', { secrets: [] }, /secrets must name at least one secret/],
    ['a short secret', { secrets: ['whsec_c2hvcnQ='] }, /secrets\.0 must be "whsec_" and 24 to 64/],
    ['a secret without its prefix', { secrets: [SECRET.slice(6)] }, /secrets\.0 must be "whsec_"/],
    ['an unknown event', { events: ['order.lost'] }, /events\.0 must be some of order\.placed/],
    ['a name that cannot be a kind', { name: 'my crm' }, /name must be 1 to 64 letters/],
    ['a mistyped option', { secret: SECRET }, /unknown option "endpoints\.0\.secret"; the options are name, url,/],
  ])('refuse %s', (_, more, message) => {
    expect(messageOf({ endpoints: [endpoint(more)] })).toMatch(message);
  });

  it('refuse two endpoints of one name', () => {
    expect(messageOf({ endpoints: [endpoint(), endpoint()] })).toMatch(/distinct names \("crm" is repeated\)/);
  });

  it('never quote a secret or a URL', () => {
    const bad = `whsec_${'?'.repeat(44)}`;
    const message = messageOf({ endpoints: [endpoint({ secrets: [bad], url: 'http://token@crm.example/abc' })] });
    expect(message).not.toMatch(/\?{4}|token|abc/);
  });
});
