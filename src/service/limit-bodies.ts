import { type NestExpressApplication } from '@nestjs/platform-express';
import { type IncomingMessage } from 'node:http';
import { pathOf } from '../api/http';

const LIMIT = '256kb';
/** Room for 1,000 orders with a few lines each. */
const BULK_LIMIT = '2mb';

/**
 * Parses JSON bodies, with a larger limit for bulk requests, and keeps the signed bytes of provider notifications. For
 * an application with `bodyParser: false`.
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
