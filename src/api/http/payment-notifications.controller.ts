import { Controller, Param, Post, Req, Res, UseFilters, VERSION_NEUTRAL } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { fields } from '../../orders/input';
import { Orders } from '../../orders';
import { CodedError } from '../../errors';
import { InputPipe } from '../input';
import { HttpProblem } from '../input';
import { type ApiRequest } from './caller';
import { ProblemFilter } from './problem.filter';
import { RateLimits } from './caller.guard';

interface RawRequest extends ApiRequest {
  readonly body?: unknown;
  readonly rawBody?: Buffer;
}

/** Receives the notifications of payment providers. Needs no API key, because the provider's signature is verified. */
@Controller({ path: 'payments', version: VERSION_NEUTRAL })
@UseFilters(ProblemFilter)
export class PaymentNotificationsController {
  constructor(
    private readonly orders: Orders,
    private readonly limits: RateLimits,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  @Post(':provider/notify')
  async notify(
    @Param('provider', new InputPipe(fields.provider)) provider: string,
    @Req() request: RawRequest,
    @Res() response: object,
  ): Promise<void> {
    const { headers } = request;
    const reply = await this.orders.handleWebhook(provider, { headers, rawBody: rawBodyOf(request) });
    if (!reply) throw new HttpProblem('ROUTE_NOT_FOUND', `no provider "${provider}" posts notifications here`);
    // Counted only if the signature is wrong, so forgeries from a shared address do not block genuine notifications.
    if (reply.status >= 400 && reply.status < 500) await this.limits.forge(request);
    const { httpAdapter } = this.adapterHost;
    const { body, contentType = 'text/plain', status } = reply;
    if (body !== '') httpAdapter.setHeader(response, 'Content-Type', contentType);
    httpAdapter.reply(response, body === '' ? undefined : body, status);
  }
}

/** Signatures cover the bytes, so a parsed body without its bytes cannot be verified. */
function rawBodyOf({ body, rawBody, headers }: RawRequest): Buffer {
  if (Buffer.isBuffer(body)) return body;
  if (rawBody) return rawBody;
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  if (isEmpty) return Buffer.alloc(0);
  // No provider posts other content types, so this is not a mistake of the host.
  if (!/json|x-www-form-urlencoded/i.test(headers['content-type'] ?? '')) {
    throw new HttpProblem('UNSUPPORTED_MEDIA_TYPE', 'providers post JSON or a form');
  }
  throw new RawBodyMissingError();
}

/** The host's body parser did not keep the bytes that a provider has signed. */
class RawBodyMissingError extends CodedError {
  constructor() {
    super(
      'RAW_BODY_MISSING',
      'payment notifications need the raw body: create the application with ' +
        'NestFactory.create(AppModule, { rawBody: true }), or parse /payments/*/notify with express.raw()',
    );
  }
}
