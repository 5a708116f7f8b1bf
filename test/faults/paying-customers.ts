import { setTimeout as sleep } from 'node:timers/promises';
import { anOrder, type RunningService } from '../e2e/running-service';

const PAUSE_MS = 50;
const RETRY_MS = 200;
const MAX_TRIES = 300;

/** Buyers who place an order every 50 ms, as often as it takes, and pay it at once. */
export class PayingCustomers {
  readonly placed: string[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;

  constructor(private readonly service: RunningService) {
    this.running = this.run();
  }

  /** Resolves when those on their way have their orders. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Resolves with the milliseconds until somebody has placed an order and sees it paid. */
  async untilServed(): Promise<number> {
    const startedAt = performance.now();
    const id = await this.buy();
    while ((await this.read(id)) !== 'PAID') await sleep(PAUSE_MS);
    return performance.now() - startedAt;
  }

  async read(id: string): Promise<string | undefined> {
    const { status, body } = await this.service.call('get', `/orders/${id}`);
    return status === 200 ? body.status : undefined;
  }

  private async run(): Promise<void> {
    const buying: Promise<string>[] = [];
    while (!this.stopping.signal.aborted) {
      buying.push(this.buy());
      await sleep(PAUSE_MS);
    }
    await Promise.all(buying);
  }

  private async buy(): Promise<string> {
    const order = anOrder();
    for (let tries = 1; !(await this.place(order)); tries += 1) {
      if (tries >= MAX_TRIES) throw new Error(`${order.id} was not taken within ${MAX_TRIES} tries`);
      await sleep(RETRY_MS);
    }
    this.placed.push(order.id);
    const { id: orderId, amount, currency } = order;
    this.service.command('order.paid', { orderId, provider: 'p', reference: orderId, amount, currency });
    return orderId;
  }

  private async place(order: object): Promise<boolean> {
    const { status } = await this.service.call('post', '/orders', order);
    return status === 201 || status === 200;
  }
}
