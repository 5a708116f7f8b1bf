import { type z } from 'zod';
import { type ApiScope, type ProblemCode } from '../../api/http';

/** Groups of routes, in the order of the document. */
export const TAGS = {
  Orders: 'Place, read, and change orders.',
  'Manual actions': 'What an operator decides about one order.',
  'Actions on many orders': 'What an operator decides about all orders of a filter.',
  'Unmatched payments': 'Payments that belong to no order, or arrived too late.',
  Stock: 'Set and read stock.',
  Timeouts: 'Parked timeouts, and wake-ups that were lost with the broker.',
  Notifications: 'Webhooks: what payment providers post to the service.',
  Health: 'Probes and metrics.',
  Documents: 'This description, and a page to try it.',
} as const;

type Tag = keyof typeof TAGS;

/** An answer without a problem. */
export interface Answer {
  readonly description: string;
  /** Absent: the answer has no body, or one of `mediaType`. */
  readonly schema?: z.ZodType;
  /** What is not JSON. */
  readonly mediaType?: string;
}

/** One route: everything that a client has to know. */
export interface Operation {
  /** Name of the function in generated clients. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** A key with any one of them may call the route. Absent: it needs no key. */
  readonly scopes?: readonly ApiScope[];
  /** Path parameters. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, z.ZodType>>;
  /** The schema that validates the body. `'any'`: whatever a provider posts. */
  readonly body?: z.ZodType | 'any';
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes of this route, besides those that every route has. */
  readonly problems?: readonly ProblemCode[];
}

/** Operations by method and path, such as `POST /orders/:id/paid`. */
export type Operations = Readonly<Record<string, Operation>>;

/** The files of the page at /docs. */
export const DOCS_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'try.js'] as const;

export type DocsFile = (typeof DOCS_FILES)[number];
