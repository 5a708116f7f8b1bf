import { type TimelineEntry } from '../api/order-contract';
import { formatMoney } from '../format/format-money';
import { type Messages } from '../i18n/en';
import { nameOf } from '../i18n/language';

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Pure: what happened, in the language of the page; what it cannot say remains as the service wrote it. */
export function titleOf({ what, title, details }: TimelineEntry, t: Messages): string {
  const provider = textOf(details['provider']) ?? '';
  const { titles } = t.order;
  switch (what) {
    case 'history':
      return transitionOf(details, t) ?? title;
    case 'attempt':
      return titles.attempt(provider);
    case 'look-up':
      return titles.answer(provider, nameOf(t.domain.attemptStatuses, textOf(details['status']) ?? ''));
    case 'refund':
      return title.startsWith('refunded') ? titles.refunded(provider) : titles.refundBegun(provider);
    case 'event': {
      const type = textOf(details['type']) ?? '';
      return details['parked'] === true ? titles.eventParked(type) : titles.eventWaits(type);
    }
    case 'unmatched':
      return 'resolution' in details
        ? titles.resolved(nameOf(t.domain.handlings, textOf(details['handling']) ?? ''))
        : titles.unmatched(provider);
    default:
      return title;
  }
}

function transitionOf({ from, to }: TimelineEntry['details'], t: Messages): string | undefined {
  const after = textOf(to);
  if (after === undefined) return undefined;
  const name = nameOf(t.domain.statuses, after);
  if (typeof from !== 'string') return `${t.order.titles.placed}: ${name}`;
  return from === after ? t.order.titles.changed : `${nameOf(t.domain.statuses, from)} → ${name}`;
}

/** Who or what brought it about. */
export function causeOf(cause: string, t: Messages): string {
  const names = { ...t.domain.unmatchedReasons, ...t.domain.refundReasons, ...t.domain.causes };
  return nameOf(names, cause);
}

/** The details that the title does not say, as pairs of name and value. */
export function detailsOf({ details }: TimelineEntry, t: Messages, locale: string): [name: string, value: string][] {
  const { amount, currency } = details;
  const money = typeof amount === 'number' && typeof currency === 'string' && formatMoney(amount, currency, locale);
  const shown: Readonly<Record<string, unknown>> = { ...details, amount: money || amount };
  return (Object.keys(t.order.detailNames) as (keyof Messages['order']['detailNames'])[]).flatMap((name) => {
    const value = shown[name];
    const isText = typeof value === 'string' || typeof value === 'number';
    return isText && value !== '' ? [[t.order.detailNames[name], String(value)] satisfies [string, string]] : [];
  });
}
