import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, Logger, HttpException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { uuidv7 } from 'uuidv7';
import { isContention, isDatabaseAtFault } from '../../database';
import { type ApiRequest, headerOf, pathOf } from './caller';
import { HttpProblem, type ProblemCode, PROBLEMS, RequestRejectedError } from '../input';

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/**
 * Answers every error with application/problem+json. Server errors are logged with the request id that the caller gets.
 */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger(ProblemFilter.name);

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<ApiRequest>();
    const requestId = requestIdOf(request);
    const problem = toProblem(error, request);
    if (problem.status >= 500) this.log(error, request, requestId, problem);
    this.reply(host.switchToHttp().getResponse<object>(), problem, requestId);
  }

  private log(error: unknown, { method, url }: ApiRequest, requestId: string, { body }: Answer): void {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    this.logger.error(
      // Without the query, which may contain private data.
      `${method} ${url.replace(/\?.*$/s, '')} failed with ${body.code}, request ${requestId}: ${text}`,
      error instanceof Error ? error.stack : undefined,
    );
  }

  private reply(response: object, { status, headers, body }: Answer, requestId: string): void {
    const { httpAdapter } = this.adapterHost;
    if (httpAdapter.isHeadersSent(response)) return void httpAdapter.end(response);
    const all = { ...headers, 'X-Request-Id': requestId, 'Content-Type': 'application/problem+json; charset=utf-8' };
    for (const [name, value] of Object.entries(all)) httpAdapter.setHeader(response, name, value);
    // As text: some releases of NestJS 11 declare an object to be application/json, whatever the header says.
    httpAdapter.reply(response, JSON.stringify(status >= 500 ? { ...body, requestId } : body), status);
  }
}

function requestIdOf(request: ApiRequest): string {
  const given = headerOf(request, 'x-request-id');
  return given && REQUEST_ID.test(given) ? given : uuidv7();
}

/** A problem body (RFC 9457) with its status and headers. */
interface Answer {
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
  if (isDatabaseAtFault(error)) {
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

/** Every path of the service with its methods, to tell a wrong method from a wrong path. */
export const ROUTES: readonly { readonly path: RegExp; readonly methods: readonly string[] }[] = [
  { path: /^\/orders$/, methods: ['GET', 'HEAD', 'POST'] },
  { path: /^\/orders\/bulk$/, methods: ['GET', 'HEAD', 'POST'] },
  { path: /^\/orders\/bulk\/actions\/(extend|cancel|close)$/, methods: ['POST'] },
  { path: /^\/orders\/[^/]+$/, methods: ['GET', 'HEAD'] },
  {
    path: /^\/orders\/[^/]+\/(attempts|pay-check|paid|extend|cancel|auto-close|erase|refund|revive|close)$/,
    methods: ['POST'],
  },
  { path: /^\/orders\/[^/]+\/history$/, methods: ['GET', 'HEAD'] },
  { path: /^\/inventory\/[^/]+$/, methods: ['GET', 'HEAD', 'PUT'] },
  { path: /^\/payments\/[^/]+\/notify$/, methods: ['POST'] },
  { path: /^\/payments\/unmatched$/, methods: ['GET', 'HEAD'] },
  { path: /^\/payments\/unmatched\/[^/]+\/(settle|reopen|assign)$/, methods: ['POST'] },
  { path: /^\/timeouts\/parked$/, methods: ['GET', 'HEAD'] },
  { path: /^\/timeouts\/parked\/(replay|discard)$/, methods: ['POST'] },
  { path: /^\/timeouts\/republish$/, methods: ['POST'] },
  { path: /^\/(health\/live|health\/ready|metrics)$/, methods: ['GET', 'HEAD'] },
  { path: /^\/(openapi\.json|asyncapi\.json|docs|docs\/[^/]+)$/, methods: ['GET', 'HEAD'] },
];

/** The methods of a path. Undefined if the path does not exist. */
export function methodsOf(url: string): readonly string[] | undefined {
  const path = pathOf(url);
  return ROUTES.find((route) => route.path.test(path))?.methods;
}
