import { forge } from '../../../packages/payment-simulator/src/forge';

describe('a forged notification', () => {
  it('differs only in the signature in its header', () => {
    const headers = {
      'Wechatpay-Signature': 'QUJDREVGR0hJSktMTU5PUA==',
      'Wechatpay-Signature-Type': 'RSA',
      nonce: '7',
    };
    const forged = forge({ headers, body: '{}' });
    expect(forged).toEqual({
      headers: { ...headers, 'Wechatpay-Signature': expect.stringMatching(/^[A-Za-z0-9]{22}==$/) as string },
      body: '{}',
    });
    expect(Buffer.from(forged.headers['Wechatpay-Signature'] ?? '', 'base64')).not.toEqual(
      Buffer.from(headers['Wechatpay-Signature'], 'base64'),
    );
  });

  it('keeps the format of a Stripe header', () => {
    const { headers } = forge({ headers: { 'stripe-signature': `t=1,v1=${'00'.repeat(32)}` }, body: '{}' });
    expect(headers['stripe-signature']).toMatch(/^t=1,v1=0{56}10{7}$/);
  });

  it('differs in the sign parameter of a form', () => {
    const { body } = forge({ headers: {}, body: 'a=1&sign=QUJDREVGR0hJSktMTU5PUA%3D%3D&sign_type=RSA2' });
    const form = new URLSearchParams(body);
    expect([form.get('a'), form.get('sign_type')]).toEqual(['1', 'RSA2']);
    expect(form.get('sign')).not.toBe('QUJDREVGR0hJSktMTU5PUA==');
  });
});
