import { type TimeoutScope } from '../../timeouts';
import {
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
} from '../order-timeouts';

/** The timeouts that belong to orders of these merchants. A host's own kinds belong to no merchant. */
export function merchantTimeouts(schema: string, merchants: readonly string[]): TimeoutScope {
  return {
    values: merchants,
    condition: (row, values) => {
      const isOurs = (orderId: string): string =>
        `EXISTS (SELECT 1 FROM ${schema}.orders o WHERE o.id = ${orderId} AND o.merchant_id = ANY(${values}::text[]))`;
      // Order ids may contain colons. The last colon belongs to the reminder.
      const reminded = `regexp_replace(${row}.key, ':[^:]*$', '')`;
      const refunded = `(SELECT r.order_id FROM ${schema}.refund r WHERE r.number = ${row}.key)`;
      return `CASE ${row}.kind
                WHEN '${ORDER_PAYMENT}' THEN ${isOurs(`${row}.key`)}
                WHEN '${ORDER_LATE_WATCH}' THEN ${isOurs(`${row}.key`)}
                WHEN '${PAYMENT_RECONCILIATION}' THEN ${isOurs(`${row}.key`)}
                WHEN '${ORDER_REMINDER}' THEN ${isOurs(reminded)}
                WHEN '${PAYMENT_REFUND}' THEN ${isOurs(refunded)}
                ELSE false END`;
    },
  };
}
