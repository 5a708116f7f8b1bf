import { randomUUID } from 'node:crypto';
import { type Clock, type Timer } from '../../clock';
import { SIGNATURE_HEADERS, signHttpRequest } from '../../payments';
import { type MerchantSecrets } from './merchant-secrets';
import { type SimulatedPayment } from './simulated-payment';

/** Tells the shop of payments, or loses the news where the script says so. Does not try again after a failure. */
export class ShopNotifier {
  private readonly timers = new Set<Timer>();

  constructor(
    private readonly providerName: string,
    private readonly clock: Clock,
    private readonly secrets: MerchantSecrets,
    private readonly stopping: AbortSignal,
  ) {}

  announce(payment: SimulatedPayment): void {
    const { notify } = payment.terms;
    if (!notify) return;
    if (notify.lost) {
      payment.notifications.lost += 1;
      return;
    }
    const timer = this.clock.after(notify.delayMs, () => {
      this.timers.delete(timer);
      for (let copy = 0; copy < notify.times; copy += 1) void this.post(payment, notify);
    });
    this.timers.add(timer);
  }

  stop(): void {
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
  }

  private async post(
    payment: SimulatedPayment,
    notify: { url: string; headers: Record<string, string> },
  ): Promise<void> {
    const body = JSON.stringify(this.news(payment));
    const headers = { ...this.sign(payment, new URL(notify.url), body), ...notify.headers };
    try {
      const response = await fetch(notify.url, { method: 'POST', body, headers, signal: this.stopping });
      await response.arrayBuffer();
      payment.notifications[response.ok ? 'sent' : 'failed'] += 1;
    } catch {
      payment.notifications.failed += 1;
    }
  }

  private news(payment: SimulatedPayment): Record<string, unknown> {
    const { reference, orderId, currency, paidAt, transactionId } = payment.entry(this.clock.now());
    const { amount, merchantAccount } = payment.terms;
    const news = { provider: this.providerName, reference, merchantAccount, currency, paidAt, transactionId };
    // A JSON number, as in the shop's own API: the amounts of a simulator stay below 2^53.
    return { ...news, orderId: orderId ?? undefined, amount: Number(amount) };
  }

  private sign(payment: SimulatedPayment, url: URL, body: string): Record<string, string> {
    const timestamp = String(Math.floor(this.clock.now() / 1_000));
    const nonce = randomUUID();
    const secret = this.secrets.of(payment.terms.merchantAccount ?? null) ?? '';
    const message = { timestamp, nonce, method: 'POST', path: url.pathname + url.search, body: Buffer.from(body) };
    const { timestamp: timestampName, nonce: nonceName, signature: signatureName } = SIGNATURE_HEADERS;
    return {
      'content-type': 'application/json',
      [timestampName]: timestamp,
      [nonceName]: nonce,
      [signatureName]: signHttpRequest(secret, message),
    };
  }
}
