import { type NestExpressApplication } from '@nestjs/platform-express';
import { type IncomingMessage } from 'node:http';
import { pathOf } from '../api/http';

const LIMIT = '256kb';
/** A thousand orders of some lines each. */
const BULK_LIMIT = '2mb';

/**
 * Reads JSON bodies, with more room for bulk requests, and notifications of payment providers as the bytes that were
 * signed. For an application made with `bodyParser: false`.
 */
export function limitBodies(app: NestExpressApplication): void {
  app.useBodyParser('raw', { limit: LIMIT, type: isNotification });
  app.useBodyParser('json', { limit: BULK_LIMIT, type: (request) => isJson(request) && isBulk(request) });
  app.useBodyParser('json', {
    limit: LIMIT,
    type: (request) => isJson(request) && !isBulk(request) && !isNotification(request),
  });
}

function isBulk({ url }: IncomingMessage): boolean {
  return pathOf(url) === '/orders/bulk';
}

function isNotification({ url }: IncomingMessage): boolean {
  return /^\/payments\/[^/]+\/notify$/.test(pathOf(url));
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/(json|[\w.-]+\+json)\s*(;|$)/i.test(headers['content-type'] ?? '');
}
