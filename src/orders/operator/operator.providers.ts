import { type Provider } from '@nestjs/common';
import { CLOCK, type Clock } from '../../clock';
import { Inventory } from '../../inventory';
import { PaymentProviders } from '../../payments';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { construct, constructWith } from '../construct';
import { CancelOrder } from '../close/cancel-order';
import { ExtendDeadline } from '../deadline/extend-deadline';
import { ListOrders } from '../read/list-orders';
import { ReadDossier } from '../read/read-dossier';
import { SummarizeOrders } from '../read/summarize-orders';
import { PaymentLookups } from '../lookup/payment-lookups';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import { PaymentWatch } from '../unmatched/payment-watch';
import { NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import { MarkPaid } from '../pay/mark-paid';
import { OrderTransaction } from '../order-transaction';
import { AssignUnmatched } from '../unmatched/assign-unmatched';
import { BulkActions } from './bulk-actions';
import { BulkRun } from './bulk-run';
import { CloseOrder } from './close-order';
import { NoteOnOrders } from './note-on-orders';
import { RefundPayment } from './refund-payment';
import { RevealPersonalData } from './reveal-personal-data';
import { ReviveOrder } from './revive-order';
import { SettleUnmatched } from '../unmatched/settle-unmatched';
import { UnmatchedPayments } from '../unmatched/unmatched-payments';
import { UnmatchedRows } from '../unmatched/unmatched-rows';

/** The actions that only a person decides. */
export const OPERATOR_PROVIDERS: Provider[] = [
  {
    provide: UnmatchedRows,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ schema }: ResolvedTimeoutsOptions) => new UnmatchedRows(schema),
  },
  construct(SettleUnmatched, OrderTransaction, UnmatchedRows, PaymentWatch),
  construct(AssignUnmatched, OrderTransaction, UnmatchedRows, MarkPaid, PaymentProviders),
  {
    provide: UnmatchedPayments,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, UnmatchedRows, AssignUnmatched, SettleUnmatched],
    useFactory: (
      { dataSource }: ResolvedTimeoutsOptions,
      rows: UnmatchedRows,
      assigning: AssignUnmatched,
      settling: SettleUnmatched,
    ) => new UnmatchedPayments({ dataSource, rows, assigning, settling }),
  },
  constructWith(RefundPayment, {
    transaction: OrderTransaction,
    unmatched: HandleUnmatched,
    found: NoteUnmatchedMoney,
    markPaid: MarkPaid,
    ask: PaymentLookups,
    providers: PaymentProviders,
  }),
  constructWith(ReviveOrder, {
    transaction: OrderTransaction,
    unmatched: HandleUnmatched,
    found: NoteUnmatchedMoney,
    inventory: Inventory,
    rows: UnmatchedRows,
  }),
  construct(CloseOrder, OrderTransaction, PaymentWatch),
  {
    provide: BulkRun,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, ListOrders, CLOCK],
    useFactory: ({ dataSource }: ResolvedTimeoutsOptions, listing: ListOrders, clock: Clock) =>
      new BulkRun({ dataSource, listing, clock }),
  },
  construct(RevealPersonalData, OrderTransaction),
  construct(NoteOnOrders, OrderTransaction),
  {
    provide: ReadDossier,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: ResolvedTimeoutsOptions) => new ReadDossier(dataSource, schema),
  },
  {
    provide: SummarizeOrders,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: ResolvedTimeoutsOptions) => new SummarizeOrders(dataSource, schema),
  },
  construct(BulkActions, BulkRun, ExtendDeadline, CancelOrder, CloseOrder),
];
