import { z } from 'zod';
import { fields } from '../../../orders/input';
import { DOCS_FILES } from '../../docs-files';
import { livenessAnswer, readinessAnswer } from '../answers/health-answers';
import { type Operations } from '../operation';

/** What providers post. Their signature is the key. */
export const notificationOperations: Operations = {
  'POST /payments/:provider/notify': {
    id: 'notifyPayment',
    tag: 'Notifications',
    summary: 'Notify of a payment',
    description: 'For payment providers, which sign what they post. The answer is the one that the provider expects.',
    params: { provider: fields.provider },
    body: 'any',
    answers: {
      200: { description: 'Accepted', mediaType: '*/*' },
      204: { description: 'Accepted' },
      400: { description: 'The signature is wrong, or the path is not well formed', mediaType: '*/*' },
      500: { description: 'The provider should post it again', mediaType: '*/*' },
    },
    problems: [
      'ROUTE_NOT_FOUND',
      'BODY_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'RATE_LIMITED',
      'DATABASE_UNAVAILABLE',
      'BUSY',
    ],
  },
};

/** Routes of OperationsModule. */
export const healthOperations: Operations = {
  'GET /health/live': {
    id: 'readLiveness',
    tag: 'Health',
    summary: 'Whether the process runs',
    answers: { 200: { description: 'It runs', schema: livenessAnswer } },
  },
  'GET /health/ready': {
    id: 'readReadiness',
    tag: 'Health',
    summary: 'Whether requests are served',
    answers: {
      200: { description: 'Requests are served', schema: readinessAnswer },
      503: { description: 'The service starts, stops, or has no database', schema: readinessAnswer },
    },
  },
  'GET /metrics': {
    id: 'readMetrics',
    tag: 'Health',
    summary: 'Metrics for Prometheus',
    answers: { 200: { description: 'Prometheus text', mediaType: 'text/plain' } },
  },
};

/** The documents themselves. */
export const documentOperations: Operations = {
  'GET /openapi.json': {
    id: 'readOpenApi',
    tag: 'Documents',
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1', mediaType: 'application/json' } },
  },
  'GET /asyncapi.json': {
    id: 'readAsyncApi',
    tag: 'Documents',
    summary: 'Commands, answers, and events over RabbitMQ',
    answers: { 200: { description: 'AsyncAPI 3', mediaType: 'application/json' } },
  },
  'GET /docs': {
    id: 'readDocs',
    tag: 'Documents',
    summary: 'A page to try the HTTP API',
    answers: { 200: { description: 'A page', mediaType: 'text/html' } },
  },
  'GET /docs/:file': {
    id: 'readDocsFile',
    tag: 'Documents',
    summary: 'A file of the page',
    params: { file: z.enum(DOCS_FILES) },
    answers: { 200: { description: 'The file', mediaType: '*/*' } },
    problems: ['ROUTE_NOT_FOUND'],
  },
};
