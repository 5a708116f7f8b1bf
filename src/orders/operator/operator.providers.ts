import { type Provider } from '@nestjs/common';
import { Inventory } from '../../inventory';
import { PaymentProviders } from '../../payments';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { AskProviders } from '../lookup/ask-providers';
import { LatePayments } from '../unmatched/late-payments';
import { LateWatch } from '../unmatched/late-watch';
import { NoteFoundMoney } from '../unmatched/note-found-money';
import { MarkPaid } from '../pay/mark-paid';
import { OrderDesk } from '../order-desk';
import { AssignUnmatched } from '../unmatched/assign-unmatched';
import { CloseOrder } from './close-order';
import { RefundPayment } from './refund-payment';
import { ReviveOrder } from './revive-order';
import { SettleUnmatched } from '../unmatched/settle-unmatched';
import { UnmatchedPayments } from '../unmatched/unmatched-payments';
import { UnmatchedRows } from '../unmatched/unmatched-rows';

/** Everything that only a person decides. */
export const OPERATOR_PROVIDERS: Provider[] = [
  {
    provide: UnmatchedRows,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ schema }: ResolvedTimeoutsOptions) => new UnmatchedRows(schema),
  },
  {
    provide: UnmatchedPayments,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, UnmatchedRows],
    useFactory: ({ dataSource }: ResolvedTimeoutsOptions, rows: UnmatchedRows) =>
      new UnmatchedPayments(dataSource, rows),
  },
  {
    provide: SettleUnmatched,
    inject: [OrderDesk, UnmatchedRows],
    useFactory: (desk: OrderDesk, rows: UnmatchedRows) => new SettleUnmatched(desk, rows),
  },
  {
    provide: AssignUnmatched,
    inject: [OrderDesk, UnmatchedRows, MarkPaid, PaymentProviders],
    useFactory: (desk: OrderDesk, rows: UnmatchedRows, markPaid: MarkPaid, providers: PaymentProviders) =>
      new AssignUnmatched(desk, rows, markPaid, providers),
  },
  {
    provide: RefundPayment,
    inject: [OrderDesk, LatePayments, NoteFoundMoney, MarkPaid, AskProviders, PaymentProviders],
    useFactory: (
      desk: OrderDesk,
      late: LatePayments,
      found: NoteFoundMoney,
      markPaid: MarkPaid,
      ask: AskProviders,
      providers: PaymentProviders,
    ) => new RefundPayment({ desk, late, found, markPaid, ask, providers }),
  },
  {
    provide: ReviveOrder,
    inject: [OrderDesk, LatePayments, NoteFoundMoney, Inventory, UnmatchedRows],
    useFactory: (
      desk: OrderDesk,
      late: LatePayments,
      found: NoteFoundMoney,
      inventory: Inventory,
      rows: UnmatchedRows,
    ) => new ReviveOrder({ desk, late, found, inventory, rows }),
  },
  {
    provide: CloseOrder,
    inject: [OrderDesk, LateWatch],
    useFactory: (desk: OrderDesk, watch: LateWatch) => new CloseOrder(desk, watch),
  },
];
