import { type DossierRefund, merchantTimeouts, PAYMENT_REFUND, type ReadDossier } from '../../orders';
import { type ResolvedTimeoutsOptions, type TimeoutSummary } from '../../timeouts';
import { type MerchantScope } from '../http';
import { type TimeoutView, toTimeoutView } from './order-page';

/** A refund in progress, with the timeout that asks its provider. */
export interface RefundView extends DossierRefund {
  readonly timeout: TimeoutView;
}

interface Dependencies {
  readonly dossiers: ReadDossier;
  readonly timeouts: TimeoutSummary;
  readonly options: ResolvedTimeoutsOptions;
}

/** Lists refunds that are not done. Each has a timeout, which is parked if the refund has failed for good. */
export class ListRefunds {
  constructor(private readonly deps: Dependencies) {}

  async execute(state: 'failed' | 'pending', limit: number, { merchants }: MerchantScope): Promise<RefundView[]> {
    const { dossiers, timeouts, options } = this.deps;
    const scope = merchants && merchantTimeouts(options.schema, merchants);
    const found = await timeouts.ofKind(PAYMENT_REFUND, state === 'failed' ? 'parked' : 'pending', limit, scope);
    const refunds = await dossiers.refunds(found.map(({ key }) => key));
    const byNumber = new Map(refunds.map((refund) => [refund.number, refund]));
    return found.flatMap((timeout) => {
      const refund = byNumber.get(timeout.key);
      return refund ? [{ ...refund, timeout: toTimeoutView(timeout) }] : [];
    });
  }
}
