/** The views, as the first part of the address after `#/`. */
export const VIEWS = ['now', 'orders', 'order', 'parked', 'unmatched', 'refunds', 'messages'] as const;
export type ViewName = (typeof VIEWS)[number];

/** Where the page is. Everything in it is in the address, so that it can be sent to a colleague. */
export interface Route {
  readonly view: ViewName;
  /** Of an order; empty in other views. */
  readonly id: string;
  readonly query: URLSearchParams;
}

export type RouteQuery = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Pure: reads `#/orders?status=PENDING`. What is not known leads to the overview. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = splitOnce(hash.replace(/^#\/?/, ''), '?');
  const [name = '', id = ''] = splitOnce(path, '/');
  const view = VIEWS.find((known) => known === name) ?? 'now';
  return { view, id: decode(id), query: new URLSearchParams(query) };
}

/** Pure: the address of a view within the page, such as `#/order/o-1`. */
export function formatRoute(view: ViewName, query: RouteQuery = {}, id = ''): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined) pairs.append(name, one);
  }
  const path = id === '' ? view : `${view}/${encodeURIComponent(id)}`;
  return `#/${path}${pairs.size === 0 ? '' : `?${pairs.toString()}`}`;
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** An address that was typed may have a lone percent sign. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
