import { randomUUID } from 'node:crypto';
import { type FaultInput, type LedgerEntry, type PaymentInput } from 'nestjs-order-timeout-payment-simulator';
import { type PaymentAttemptRef } from '../../../src/payments';

/** Talks to a simulator's control side, as a demo would. */
export class SimulatorClient {
  constructor(private readonly url: string) {}

  /** Creates a payment and returns the attempt that stands for it. */
  async create(input: Partial<PaymentInput> = {}): Promise<PaymentAttemptRef> {
    const reference = input.reference ?? randomUUID();
    const body = { reference, amount: 1_999, currency: 'EUR', ...input };
    const { status, json } = await this.send('POST', '/script/payments', body);
    if (status !== 201) throw new Error(`the simulator refused the payment: ${JSON.stringify(json)}`);
    return {
      ...{
        provider: 'simulator',
        reference,
        amount: BigInt(body.amount),
        currency: body.currency,
        createdAt: new Date(),
      },
      ...(input.merchantAccount === undefined ? {} : { merchantAccount: input.merchantAccount }),
    };
  }

  /** The buyer pays. Resolves to the HTTP status: 409 when refused. */
  async pay({ reference }: PaymentAttemptRef): Promise<number> {
    return (await this.send('POST', `/payments/${encodeURIComponent(reference)}/pay`)).status;
  }

  async refund({ reference }: PaymentAttemptRef): Promise<number> {
    return (await this.send('POST', `/script/payments/${encodeURIComponent(reference)}/refund`)).status;
  }

  async addFault(fault: FaultInput): Promise<void> {
    await this.send('POST', '/script/faults', fault);
  }

  async clearFaults(): Promise<void> {
    await this.send('DELETE', '/script/faults');
  }

  /** What really happened to this attempt. */
  async truthOf({ reference }: PaymentAttemptRef): Promise<LedgerEntry | undefined> {
    const { json } = await this.send('GET', '/script/ledger');
    return (json as { payments: LedgerEntry[] }).payments.find((entry) => entry.reference === reference);
  }

  /** Any request to the control side. */
  async send(method: string, path: string, body?: unknown): Promise<{ status: number; json: unknown }> {
    const response = await fetch(this.url + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  }
}
