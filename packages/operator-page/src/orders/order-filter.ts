import { ORDER_STATUSES, type OrderStatus } from '../api/contract';

/** The parameters of a list of orders, as they stand in the address. */
export const TEXT_FIELDS = ['q', 'merchantId', 'provider', 'reference', 'trace'] as const;
export const TIME_FIELDS = ['expiresFrom', 'expiresTo', 'createdFrom', 'createdTo'] as const;

export type TextField = (typeof TEXT_FIELDS)[number];
export type TimeField = (typeof TIME_FIELDS)[number];

/** Which orders to list. Instants are ISO 8601. */
export type OrderFilter = { readonly status: readonly OrderStatus[] } & {
  readonly [field in TextField | TimeField]?: string;
};

/** Pure: what is not understood is left out. */
export function readFilter(query: URLSearchParams): OrderFilter {
  const status = ORDER_STATUSES.filter((known) => query.getAll('status').includes(known));
  const texts = [...TEXT_FIELDS].flatMap((field) => pair(field, query.get(field)?.trim()));
  const times = [...TIME_FIELDS].flatMap((field) => pair(field, instantOf(query.get(field))));
  return { status, ...Object.fromEntries([...texts, ...times]) };
}

function pair(field: string, value: string | undefined): [string, string][] {
  return value === undefined || value === '' ? [] : [[field, value]];
}

/** An instant, or undefined. Accepts what a control for date and time gives, which is in the computer's time zone. */
export function instantOf(text: string | null): string | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** What a control for date and time takes: the computer's time zone, without its name. */
export function localInput(instant: string | undefined): string {
  if (instant === undefined) return '';
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function isEmpty({ status, ...rest }: OrderFilter): boolean {
  return status.length === 0 && Object.keys(rest).length === 0;
}

export type BulkAction = 'extend' | 'cancel' | 'close';

const CHANGEABLE: Readonly<Record<BulkAction, readonly OrderStatus[]>> = {
  extend: ['PENDING'],
  cancel: ['PENDING', 'CLOSING'],
  close: ['PENDING', 'CLOSING'],
};

/** Why an action cannot be taken on all orders of a filter. */
export type BulkRefusal = 'empty' | 'search' | 'status';

/** The filter of the action, or why there is none. */
export type BulkChoice = { readonly filter: Omit<OrderFilter, 'q' | 'trace'> } | { readonly refusal: BulkRefusal };

/** Pure: narrows a filter to the orders that an action can change. */
export function bulkFilter(action: BulkAction, { q, trace, status, ...rest }: OrderFilter): BulkChoice {
  if (q !== undefined || trace !== undefined) return { refusal: 'search' };
  if (status.length === 0 && Object.keys(rest).length === 0) return { refusal: 'empty' };
  const wanted = CHANGEABLE[action].filter((one) => status.length === 0 || status.includes(one));
  return wanted.length === 0 ? { refusal: 'status' } : { filter: { ...rest, status: wanted } };
}
