import {
  type FaultInput,
  type LedgerEntry,
  type PaymentInput,
  type ScriptInput,
} from 'nestjs-order-timeout-payment-simulator';
import { RunError } from '../run-error';
import { httpJson, type JsonAnswer } from '../shop/http-json';

const TRIES = 5;

/** The keys of both sides, by account. */
export interface SimulatorMerchants {
  readonly alipay: Readonly<Record<string, AlipayKeys>>;
  readonly wechatPay: Readonly<Record<string, WechatPayKeys>>;
  readonly stripe: Readonly<Record<string, StripeKeys>>;
}

interface AlipayKeys {
  readonly appId: string;
  readonly sellerId: string;
  readonly privateKey: string;
  readonly alipayPublicKey: string;
  readonly alipayPrivateKey: string;
}

interface WechatPayKeys {
  readonly options: Readonly<Record<string, unknown>> & {
    readonly mchid: string;
    readonly appid: string;
    readonly apiV3Key: string;
  };
  readonly platform: readonly { readonly serial: string; readonly privateKey: string }[];
}

interface StripeKeys {
  readonly secretKey: string;
  readonly webhookSecrets: readonly string[];
}

/** Which payment is meant. */
export interface PaymentKey {
  readonly provider: string;
  readonly reference: string;
  /** Of the merchant: two may use the same reference. */
  readonly account: string;
}

/** What the script and the buyers say to the payment simulator. */
export class SimulatorClient {
  constructor(readonly url: string) {}

  async merchants(): Promise<SimulatorMerchants> {
    return (await this.call('GET', '/script/merchants')) as SimulatorMerchants;
  }

  /** Tried again while the machine is too busy to connect. */
  async create(payment: PaymentInput): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const answer = await httpJson('POST', `${this.url}/script/payments`, payment).catch((error: unknown) => {
        if (tries === TRIES) throw error;
      });
      // Known already: an earlier try got through, and only its answer was lost.
      if (answer?.status === 201 || (answer?.status === 409 && tries > 1)) return;
      if (answer) throw refusal('POST', '/script/payments', answer);
    }
  }

  /** From now on another script; what it does not name stays as it was. */
  async rescript(key: PaymentKey, change: ScriptInput): Promise<void> {
    await this.call('POST', pathOf(key, 'script'), change);
  }

  /** Refunds a part directly at the provider. Minor units. */
  async refundDirectly(key: PaymentKey, amount: number): Promise<void> {
    await this.call('POST', pathOf(key, 'refund'), { amount });
  }

  async addFault(fault: FaultInput): Promise<void> {
    await this.call('POST', '/script/faults', fault);
  }

  async clearFaults(): Promise<void> {
    await this.call('DELETE', '/script/faults');
  }

  async ledger(): Promise<readonly LedgerEntry[]> {
    return ((await this.call('GET', '/script/ledger')) as { payments: LedgerEntry[] }).payments;
  }

  /** The buyer confirms. @returns false: refused. */
  async pay(key: PaymentKey): Promise<boolean> {
    const { status } = await httpJson('POST', this.url + pathOf(key, 'pay'));
    return status === 200;
  }

  private async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await httpJson(method, this.url + path, body);
    if (answer.status >= 300) throw refusal(method, path, answer);
    return JSON.parse(answer.text) as unknown;
  }
}

function refusal(method: string, path: string, { status, text }: JsonAnswer): RunError {
  return new RunError(`the payment simulator refused ${method} ${path}: ${status} ${text}`);
}

function pathOf({ provider, reference, account }: PaymentKey, action: string): string {
  return `/script/payments/${provider}/${reference}/${action}?account=${account}`;
}
