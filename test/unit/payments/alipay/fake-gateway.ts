import { createServer, type Server, type ServerResponse } from 'node:http';
import { createSign } from 'node:crypto';
import { type AddressInfo } from 'node:net';
import { AlipayProvider } from '../../../../src/payments/alipay';
import { generateAlipayMerchants } from '../../../../packages/payment-simulator/src/alipay';
import { type ManualClock } from '../../../support/manual-clock';

/** One request as it reached the gateway. */
export interface SeenRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly content: Readonly<Record<string, unknown>>;
}

/** What the gateway does with a request: text to answer with status 200, or whatever it does with the response. */
export type Answer = string | ((response: ServerResponse) => void);

const [keys] = Object.values(generateAlipayMerchants());
if (!keys) throw new Error('no keys');
/** The one merchant of these tests: what the adapter is given, and Alipay's private key. */
export const merchant = {
  appId: keys.appId,
  sellerId: keys.sellerId,
  privateKey: keys.privateKey,
  alipayPublicKey: keys.alipayPublicKey,
};
export const { alipayPrivateKey, publicKey } = keys;

/** The body of an answer with exactly these fields, signed as Alipay does. */
export function signedBody(method: string, fields: Readonly<Record<string, unknown>>): string {
  const raw = JSON.stringify(fields);
  const sign = createSign('sha256').update(raw).sign(alipayPrivateKey, 'base64');
  return `{"${method.replaceAll('.', '_')}_response":${raw},"sign":"${sign}"}`;
}

/** A gateway that answers what the test says. */
export class FakeGateway {
  readonly requests: SeenRequest[] = [];
  answers: ((request: SeenRequest) => Answer)[] = [];
  private server: Server | undefined;

  async start(): Promise<void> {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const query = new URL(request.url ?? '', 'http://localhost').searchParams;
        const form = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
        const params = Object.fromEntries([...query, ...form]);
        const content = JSON.parse(params['biz_content'] ?? '{}') as Record<string, unknown>;
        this.reply({ method: params['method'] ?? '', params, content }, response);
      });
    });
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server?.address() as AddressInfo).port}/gateway.do`;
  }

  /** An adapter that asks this gateway. */
  provider(clock: ManualClock): AlipayProvider {
    return new AlipayProvider({ merchants: { shop: merchant }, gateway: this.url }, clock);
  }

  /** Answers the next requests one after the other with these fields, signed, plus out_trade_no "ord-1". */
  willSay(...bodies: readonly Readonly<Record<string, unknown>>[]): void {
    this.answers = bodies.map(
      (fields) =>
        ({ method }) =>
          signedBody(method, { out_trade_no: 'ord-1', ...fields }),
    );
  }

  private reply(request: SeenRequest, response: ServerResponse): void {
    this.requests.push(request);
    const answer = this.answers.shift()?.(request) ?? '';
    if (typeof answer === 'function') answer(response);
    else response.end(answer);
  }
}
