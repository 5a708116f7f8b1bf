import { type Clock } from '../../clock';
import { isFreshTimestamp, isSameSignature, SIGNATURE_HEADERS, signHttpRequest } from '../../payments';
import { type FaultPlan } from './fault-plan';
import { type MerchantSecrets } from './merchant-secrets';
import { type PaymentLedger } from './payment-ledger';
import { jsonReply, type Reply, type SimulatorRequest } from './reply';
import { signedReply } from './signed-reply';
import { type SimulatedPayment } from './simulated-payment';
import { type Fault } from './simulator-input';

type Operation = 'query' | 'close';

/** HTTP status of every payment status that is not simply 200. */
const HTTP_STATUS: Readonly<Record<string, number>> = { NOT_FOUND: 404, IN_PROGRESS: 409 };

/** The provider's side of the protocol that HttpPaymentProvider speaks. */
export class ProviderEndpoint {
  constructor(
    private readonly clock: Clock,
    private readonly ledger: PaymentLedger,
    private readonly globalFaults: FaultPlan,
    private readonly secrets: MerchantSecrets,
    private readonly stopping: AbortSignal,
  ) {}

  /** Answers one call of a shop; `stopping` ends every wait. */
  async answer(operation: Operation, reference: string, request: SimulatorRequest): Promise<Reply> {
    const merchantAccount = request.query.get('merchantAccount');
    const secret = this.secrets.of(merchantAccount);
    if (secret === undefined || !this.isSigned(secret, request)) return jsonReply(401, { error: 'bad signature' });
    const found = this.ledger.find(reference);
    const payment = (found?.payment.terms.merchantAccount ?? null) === merchantAccount ? found?.payment : undefined;
    const faults = this.globalFaults.strike(operation, found?.faults.strike(operation));
    await this.lag(faults, 'before-effect');
    const fault = faults.find((one) => one.fault !== 'latency');
    const early = replyBeforeEffect(fault);
    if (early) return early;
    const answer = fault?.fault === 'not-found' ? { status: 'NOT_FOUND' } : this.perform(operation, payment);
    await this.lag(faults, 'after-effect');
    if (fault?.fault === 'lost-response') return { type: 'cut' };
    const httpStatus = operation === 'close' && answer.status === 'PAID' ? 409 : (HTTP_STATUS[answer.status] ?? 200);
    const nonce = String(request.headers[SIGNATURE_HEADERS.nonce]);
    return signedReply(
      { request, secret, httpStatus, fault, nowMs: this.clock.now() },
      { ...answer, reference, merchantAccount, nonce },
    );
  }

  private isSigned(secret: string, { method, path, headers, body }: SimulatorRequest): boolean {
    const { timestamp: timestampName, nonce: nonceName, signature: signatureName } = SIGNATURE_HEADERS;
    const [timestamp, nonce, signature] = [headers[timestampName], headers[nonceName], headers[signatureName]];
    if (typeof timestamp !== 'string' || typeof nonce !== 'string' || typeof signature !== 'string') return false;
    const expected = signHttpRequest(secret, { timestamp, method, path, nonce, body });
    return isSameSignature(expected, signature) && isFreshTimestamp(timestamp, this.clock.now());
  }

  /** The effect on the money, at this instant. */
  private perform(operation: Operation, payment: SimulatedPayment | undefined): { readonly status: string } {
    const now = this.clock.now();
    if (!payment) return { status: 'NOT_FOUND' };
    if (operation === 'close') return { status: payment.close(now) };
    // Before the query: a buyer who pays right after it must not show in its answer.
    const { amount, currency, paidAt, transactionId } = payment.entry(now);
    const status = payment.query(now);
    return status === 'PAID' ? { status, ...{ amount, currency, paidAt, transactionId } } : { status };
  }

  private async lag(faults: readonly Fault[], phase: 'before-effect' | 'after-effect'): Promise<void> {
    const ms = faults.reduce((sum, one) => sum + (one.fault === 'latency' && one.phase === phase ? one.ms : 0), 0);
    if (ms > 0) await this.clock.sleep(ms, this.stopping);
  }
}

function replyBeforeEffect(fault: Fault | undefined): Reply | undefined {
  if (fault?.fault === 'hang') return { type: 'silence' };
  if (fault?.fault === 'drop') return { type: 'cut' };
  if (fault?.fault !== 'error') return undefined;
  const { status, retryAfterSeconds } = fault;
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { type: 'answer', status, body: '{"error":"scripted"}', headers };
}
