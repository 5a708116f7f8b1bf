import { type Session } from '../../packages/operator-page/src/api/contract';
import { groups, outboxRows, parkedMessages, parkedTimeouts, refunds, unmatched } from './recorded/attention';
import { order, orders } from './recorded/orders';
import { NOW, overview, session } from './recorded/overview';

export const KEY = 'a-key-of-many-letters';

/** A request of the page. */
export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly csrf: string | string[] | undefined;
  readonly body: Record<string, unknown> | undefined;
}

interface Answer {
  readonly status: number;
  readonly json?: unknown;
}

const BULK = 'orders/bulk/actions/';

const problem = (status: number, code: string, detail: string): Answer => ({ status, json: { code, detail, status } });

/** Answers as the service does, from recorded data, and remembers what it was asked. */
export class RecordedApi {
  readonly now = NOW;
  readonly calls: ApiCall[] = [];
  /** Null: nobody is signed in. */
  session: Session | null = session;
  /** Answers of paths that differ from the recorded ones; a function may wait. */
  readonly answers = new Map<string, Answer | (() => Answer | Promise<Answer>)>();

  reset(): void {
    this.session = session;
    this.calls.length = 0;
    this.answers.clear();
  }

  /** The actions that were asked for. */
  get actions(): ApiCall[] {
    return this.calls.filter(({ method, path }) => method === 'POST' && path !== 'session');
  }

  countOf(path: string): number {
    return this.calls.filter((call) => call.path === path).length;
  }

  async answer(call: ApiCall): Promise<Answer> {
    this.calls.push(call);
    if (call.path === 'session') return this.answerSession(call);
    if (!this.session) return problem(401, 'UNAUTHORIZED', 'there is no session');
    if (call.method !== 'GET' && call.csrf !== this.session.csrf) return problem(403, 'FORBIDDEN', 'wrong token');
    const special = this.answers.get(call.path);
    if (special) return typeof special === 'function' ? special() : special;
    return call.method === 'GET' ? this.read(call) : this.act(call);
  }

  private answerSession({ method, body }: ApiCall): Answer {
    if (method === 'DELETE') this.session = null;
    if (method === 'DELETE') return { status: 204 };
    if (method === 'POST' && body?.['key'] === KEY) this.session = session;
    return this.session ? { status: 200, json: this.session } : problem(401, 'UNAUTHORIZED', 'the key is unknown');
  }

  private read({ path, query }: ApiCall): Answer {
    const lists: Readonly<Record<string, unknown>> = {
      overview,
      'parked-timeouts/groups': groups,
      'parked-timeouts': parkedTimeouts.filter(({ kind }) => (query.get('kind') ?? kind) === kind),
      'payments/unmatched': unmatched,
      refunds: query.get('state') === 'pending' ? [] : refunds,
      'messages/parked': { messages: parkedMessages },
      'outbox/parked': outboxRows,
      orders: { orders: this.ordersOf(query), next: query.has('cursor') ? null : 'bmV4dA' },
      [`orders/${order.id}`]: order,
    };
    if (path in lists) return { status: 200, json: lists[path] };
    return problem(404, 'ORDER_NOT_FOUND', 'there is no such order');
  }

  private ordersOf(query: URLSearchParams): unknown {
    const statuses = query.getAll('status');
    return orders.filter(({ status }) => statuses.length === 0 || statuses.includes(status));
  }

  private act({ path, body }: ApiCall): Answer {
    if (path.startsWith(BULK)) return { status: 200, json: bulkPart(path, body ?? {}) };
    if (path.endsWith('/reveal'))
      return { status: 200, json: { metadata: { buyer: 'Ada L.' }, evidence: [{ of: 'history' }] } };
    if (path.startsWith('parked-timeouts/')) {
      return { status: 200, json: { count: (body?.['timeouts'] as unknown[] | undefined)?.length ?? 0 } };
    }
    return { status: 200, json: { count: (body?.['ids'] as unknown[] | undefined)?.length ?? 0 } };
  }
}

/** 1,000 orders in the first part, 264 in the second. */
function bulkPart(path: string, { dryRun, cursor }: Record<string, unknown>): unknown {
  const outcome = { extend: 'extended', cancel: 'cancelled', close: 'closed' }[path.slice(BULK.length)] ?? 'done';
  const isLast = cursor !== undefined;
  const changed = isLast ? 260 : 990;
  return {
    dryRun: dryRun === true,
    count: isLast ? 264 : 1000,
    outcomes: { [outcome]: changed, BUSY: isLast ? 4 : 10 },
    sample: [
      { id: 'o-2030-03-01-70405', outcome: 'BUSY' },
      { id: 'o-2030-03-01-70412', outcome },
    ],
    next: isLast ? null : 'cGFydC0y',
  };
}
