import { type IncomingHttpHeaders } from 'node:http';

/** A request as the endpoints see it. */
export interface SimulatorRequest {
  readonly method: string;
  /** Path with query string, as sent. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** What happens on the wire: an answer, silence until the simulator closes, or a cut connection. */
export type Reply =
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly type: 'silence' }
  | { readonly type: 'cut' };

/** A plain JSON answer. */
export function jsonReply(status: number, body: unknown): Reply {
  return { type: 'answer', status, body: JSON.stringify(body) };
}
