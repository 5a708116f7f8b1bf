import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { uuidv7 } from 'uuidv7';
import { type ApiRequest, headerOf } from './api-request';
import { type Answer, toProblem } from './to-problem';

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
