import { HttpException } from '@nestjs/common';
import { isContention, isDatabaseUnavailable } from '../../database';
import { RequestRejectedError } from '../input';
import { type ApiRequest } from './api-request';
import { HttpProblem } from './http-problem';
import { type ProblemCode, PROBLEMS } from './problem-catalogue';
import { methodsOf } from './routes';

/** A problem body (RFC 9457) with its status and headers. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> & { readonly code: string };
}

type Request = Pick<ApiRequest, 'method' | 'url'>;

/** Problems by the error types of body-parser. */
const BODY_PROBLEMS = new Map<unknown, readonly [ProblemCode, string]>([
  [
    'entity.too.large',
    ['BODY_TOO_LARGE', 'send less, or several requests; the limit is 256 KiB, or 2 MiB for /orders/bulk'],
  ],
  ['encoding.unsupported', ['UNSUPPORTED_MEDIA_TYPE', 'send the body uncompressed, or with gzip, deflate, or br']],
  ['charset.unsupported', ['UNSUPPORTED_MEDIA_TYPE', 'send the body in UTF-8']],
]);

/** Pure: maps an error to its answer. The answer to an unexpected error reveals nothing about it. */
export function toProblem(error: unknown, request: Request): Answer {
  if (error instanceof RequestRejectedError) return answer(error.rejection, error.reason, {}, error.details);
  if (error instanceof HttpProblem) return answer(error.problem, error.detail, error.headers);
  if (error instanceof HttpException) return ofFramework(error, request);
  if (isDatabaseUnavailable(error)) {
    const detail = 'the request may not have been carried out; repeat it';
    return answer('DATABASE_UNAVAILABLE', detail, { 'Retry-After': '5' });
  }
  if (isContention(error)) return answer('BUSY', 'repeat the request', { 'Retry-After': '1' });
  return ofBodyParser(error) ?? answer('INTERNAL_ERROR', 'search the log of the service for the request id');
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
  if (!allowed) return answer('ROUTE_NOT_FOUND', `there is no route ${method} ${url}`);
  return answer('METHOD_NOT_ALLOWED', `${method} is not supported; use ${allowed.join(', ')}`, {
    Allow: allowed.join(', '),
  });
}

/** Nest turns the SyntaxError of a bad body and the URIError of a bad path into a 400 with only the message. */
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

/** An error from a guard or an interceptor of the host. */
function other(status: number, detail: string): Answer {
  const code = `HTTP_${status}`;
  return { status, headers: {}, body: { type: 'about:blank', title: detail, status, code, detail } };
}
