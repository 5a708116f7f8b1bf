import { HttpException } from '@nestjs/common';
import { isContention, isDatabaseUnavailable } from '../../database';
import { RequestRejectedError } from '../input';
import { type ApiRequest } from './api-request';
import { HttpProblem } from './http-problem';
import { type ProblemCode, PROBLEMS } from './problem-catalogue';
import { methodsOf } from './routes';

/** A problem body (RFC 9457) and the headers beside it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> & { readonly code: string };
}

type Request = Pick<ApiRequest, 'method' | 'url'>;

/** body-parser's names of what it refuses. */
const BODY_PROBLEMS = new Map<unknown, readonly [ProblemCode, string]>([
  ['entity.too.large', ['BODY_TOO_LARGE', 'send less, or several requests: 256 KiB, 2 MiB for /orders/bulk']],
  ['encoding.unsupported', ['UNSUPPORTED_MEDIA_TYPE', 'send the body as it is, or with gzip, deflate or br']],
  ['charset.unsupported', ['UNSUPPORTED_MEDIA_TYPE', 'send the body in UTF-8']],
]);

/** Pure: what to answer for an error. Of an unexpected one nothing is told but that it happened. */
export function toProblem(error: unknown, request: Request): Answer {
  if (error instanceof RequestRejectedError) return answer(error.rejection, error.reason, {}, error.details);
  if (error instanceof HttpProblem) return answer(error.problem, error.detail, error.headers);
  if (error instanceof HttpException) return ofFramework(error, request);
  if (isDatabaseUnavailable(error)) {
    const detail = 'nothing was changed as far as is known; repeat the request';
    return answer('DATABASE_UNAVAILABLE', detail, { 'Retry-After': '5' });
  }
  if (isContention(error)) return answer('BUSY', 'repeat the request', { 'Retry-After': '1' });
  return ofBodyParser(error) ?? answer('INTERNAL_ERROR', 'see the log of the service, by the request id');
}

function ofFramework(error: HttpException, request: Request): Answer {
  switch (error.getStatus()) {
    case 404:
      return ofUnknownRoute(request);
    case 400:
      return ofUnreadable(error.message);
    default:
      return other(error.getStatus(), error.message);
  }
}

function ofUnknownRoute({ method, url }: Request): Answer {
  const allowed = methodsOf(url);
  if (!allowed) return answer('ROUTE_NOT_FOUND', `nothing answers ${method} ${url}`);
  return answer('METHOD_NOT_ALLOWED', `${method} is not among ${allowed.join(', ')}`, { Allow: allowed.join(', ') });
}

/** Nest makes 400 of the SyntaxError of a bad body and of the URIError of a bad path, and keeps only the message. */
function ofUnreadable(message: string): Answer {
  const isPath = message.startsWith('Failed to decode param');
  return answer(isPath ? 'INVALID_REQUEST' : 'INVALID_JSON', message);
}

function ofBodyParser(error: unknown): Answer | undefined {
  if (!(error instanceof Error)) return undefined;
  const { type, status, expose } = error as Error & { type?: unknown; status?: unknown; expose?: unknown };
  const [code, detail] = BODY_PROBLEMS.get(type) ?? [];
  if (code && detail) return answer(code, detail);
  const isOurs = expose === true && typeof status === 'number' && status >= 400 && status < 500;
  return isOurs ? answer('INVALID_REQUEST', error.message) : undefined;
}

function answer(
  code: ProblemCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
  details: Readonly<Record<string, unknown>> = {},
): Answer {
  const { status, title } = PROBLEMS[code];
  return {
    status,
    headers,
    body: { type: `urn:order-timeout:problem:${code}`, title, status, code, detail, ...details },
  };
}

/** From a guard or an interceptor of the host. */
function other(status: number, detail: string): Answer {
  const code = `HTTP_${status}`;
  return { status, headers: {}, body: { type: 'about:blank', title: detail, status, code, detail } };
}
