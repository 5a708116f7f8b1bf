import { formatInstant } from '../format/format-time';
import { type Messages } from '../i18n/en';
import { type OrderFilter } from './order-filter';

/** Pure: the filter in words, as pairs of name and value. */
export function describeFilter(filter: OrderFilter, t: Messages, locale: string): [name: string, value: string][] {
  const time = (instant: string | undefined): string | undefined =>
    instant === undefined ? undefined : formatInstant(Date.parse(instant), locale);
  const status = filter.status.map((one) => t.domain.statuses[one]).join(', ');
  const pairs: [string, string | undefined][] = [
    [t.orders.status, status === '' ? undefined : status],
    [t.orders.merchant, filter.merchantId],
    [t.orders.provider, filter.provider],
    [t.orders.reference, filter.reference],
    [t.orders.deadlineFrom, time(filter.expiresFrom)],
    [t.orders.deadlineTo, time(filter.expiresTo)],
    [t.orders.placedFrom, time(filter.createdFrom)],
    [t.orders.placedTo, time(filter.createdTo)],
  ];
  return pairs.filter((pair): pair is [string, string] => pair[1] !== undefined);
}
