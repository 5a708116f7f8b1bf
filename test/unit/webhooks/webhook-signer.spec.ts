import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { WebhookSigner } from '../../../src/webhooks/webhooks';

const secret = () => `whsec_${randomBytes(32).toString('base64')}`;

describe('the signature of a webhook', () => {
  const body = JSON.stringify({ type: 'order.closed', reason: 'Zürich €' });

  it('is the HMAC-SHA256 of id, timestamp, and body, in base64', () => {
    const key = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const signed = new WebhookSigner([`whsec_${key}`]).headers('0199-id', 1_614_265_330_999, body);
    const hmac = createHmac('sha256', Buffer.from(key, 'base64')).update(`0199-id.1614265330.${body}`);
    expect(signed).toEqual({
      'webhook-id': '0199-id',
      'webhook-timestamp': '1614265330',
      'webhook-signature': `v1,${hmac.digest('base64')}`,
    });
  });

  it('is accepted by a receiver with any of the secrets, and by no other', () => {
    const [old, current, other] = [secret(), secret(), secret()];
    const headers = new WebhookSigner([old, current]).headers('id', Date.now(), body);
    for (const known of [old, current]) expect(new Webhook(known).verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => new Webhook(other).verify(body, headers)).toThrow('No matching signature');
    expect(() => new Webhook(current).verify(`${body} `, headers)).toThrow('No matching signature');
  });
});
