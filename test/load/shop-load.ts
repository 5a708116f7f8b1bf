import { Agent, request } from 'node:http';

const KEY = 'key-of-everything';

/** Places orders at a steady rate and deals with each as a shop would: a third is paid, a sixth cancelled, the rest ends unpaid. */
export class ShopLoad {
  readonly answers = new Map<number, number>();
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 8 });
  private readonly inFlight = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  placed = 0;

  constructor(
    private readonly url: string,
    private readonly perSecond: number,
  ) {}

  async open(): Promise<void> {
    await this.send('PUT', '/inventory/apple', { onHand: 2_000_000_000 });
  }

  start(): void {
    const startedAt = performance.now();
    this.timer = setInterval(() => {
      const wanted = Math.floor(((performance.now() - startedAt) / 1_000) * this.perSecond);
      while (this.placed < wanted && this.inFlight.size < 200) this.begin(++this.placed);
    }, 20);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.inFlight);
    this.agent.destroy();
  }

  private begin(index: number): void {
    const work: Promise<void> = this.live(index).finally(() => this.inFlight.delete(work));
    this.inFlight.add(work);
  }

  private async live(index: number): Promise<void> {
    const id = `soak-${index}`;
    const lines = [{ sku: 'apple', quantity: 1, unitAmount: 1_999 }];
    await this.send('POST', '/orders', { id, amount: 1_999, currency: 'EUR', paymentWindowMs: 1_500, lines });
    if (index % 3 === 0) {
      const payment = { provider: 'p', reference: id, amount: 1_999, currency: 'EUR' };
      await this.send('POST', `/orders/${id}/paid`, payment);
    } else if (index % 6 === 1) await this.send('POST', `/orders/${id}/cancel`, {});
    if (index % 10 === 0) await this.send('POST', '/orders', { id, amount: -1 });
    if (index % 10 === 5) await this.send('GET', `/orders/${id}/history`);
    if (index % 50 === 7) await this.send('GET', '/metrics');
  }

  private send(method: string, path: string, body?: object): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'x-api-key': KEY };
      const sent = request(`${this.url}${path}`, { method, headers, agent: this.agent }, (response) => {
        const status = response.statusCode ?? 0;
        this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
        response.resume().on('end', resolve).on('error', reject);
      });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // The other side has closed the kept connection as it was used: asked again, as every client does.
        const isStale = sent.reusedSocket && error.code === 'ECONNRESET';
        if (isStale) this.send(method, path, body).then(resolve, reject);
        else reject(error);
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
