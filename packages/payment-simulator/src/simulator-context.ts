import { type Clock } from './clock';
import { type FaultPlan } from './fault-plan';
import { type LedgerPayment, type PaymentLedger } from './payment-ledger';
import { type Performed, type ProtocolContext } from './protocol';
import { jsonReply, type Reply } from './reply';
import { type Fault, type Operation } from './simulator-input';

/** What the simulator gives every protocol, its own too. */
export class SimulatorContext implements ProtocolContext {
  constructor(
    readonly clock: Clock,
    readonly ledger: PaymentLedger,
    readonly faults: FaultPlan,
    readonly stopping: AbortSignal,
  ) {}

  async perform<T>(operation: Operation, payment: LedgerPayment | undefined, effect: () => T): Promise<Performed<T>> {
    const faults = this.faults.strike(operation, payment?.faults.strike(operation));
    await this.lag(faults, 'before-effect');
    const fault = faults.find((one) => one.fault !== 'latency');
    const early = replyBeforeEffect(fault);
    if (early) return { type: 'reply', reply: early };
    const isRefused = fault?.fault === 'not-found' || fault?.fault === 'rate-limited';
    const performed: Performed<T> = isRefused ? { type: 'refused', fault } : { type: 'done', value: effect(), fault };
    await this.lag(faults, 'after-effect');
    return fault?.fault === 'lost-response' ? { type: 'reply', reply: { type: 'cut' } } : performed;
  }

  private async lag(faults: readonly Fault[], phase: 'before-effect' | 'after-effect'): Promise<void> {
    const ms = faults.reduce((sum, one) => sum + (one.fault === 'latency' && one.phase === phase ? one.ms : 0), 0);
    if (ms > 0) await this.clock.sleep(ms, this.stopping);
  }
}

function replyBeforeEffect(fault: Fault | undefined): Reply | undefined {
  switch (fault?.fault) {
    case 'hang':
      return { type: 'silence' };
    case 'drop':
      return { type: 'cut' };
    case 'error-without-body':
      return jsonReply(500, { message: 'scripted' });
    case 'error': {
      const { status, retryAfterSeconds } = fault;
      const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
      return { type: 'answer', status, body: '{"error":"scripted"}', headers };
    }
    default:
      return undefined;
  }
}
