import { BadRequestException, HttpException, NotFoundException } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { methodsOf, toProblem } from '../../../src/api/http/problem.filter';
import { PROBLEMS, RequestRejectedError } from '../../../src/api/input';

const request = { method: 'GET', url: '/orders/1' };
const withCode = (code: string, message = 'secret detail'): Error => Object.assign(new Error(message), { code });
const ofBodyParser = (type: string, status: number): Error =>
  Object.assign(new Error('request went wrong'), { type, status, expose: true });

describe('problems', () => {
  it('of a refused request have its code, its reason, and its details', () => {
    const error = new RequestRejectedError('OUT_OF_STOCK', 'not enough of a', { shortages: [{ sku: 'a' }] });
    expect(toProblem(error, request)).toEqual({
      status: 409,
      headers: {},
      body: {
        type: 'urn:order-timeout:problem:OUT_OF_STOCK',
        title: 'There is not enough stock',
        status: 409,
        code: 'OUT_OF_STOCK',
        detail: 'not enough of a',
        shortages: [{ sku: 'a' }],
      },
    });
  });

  it.each<[string, unknown, number, string, object]>([
    ['an unavailable database', withCode('ECONNREFUSED'), 503, 'DATABASE_UNAVAILABLE', { 'Retry-After': '5' }],
    [
      'a stopping database',
      new QueryFailedError('q', [], withCode('57P01')),
      503,
      'DATABASE_UNAVAILABLE',
      { 'Retry-After': '5' },
    ],
    ['a deadlock', new QueryFailedError('q', [], withCode('40P01')), 503, 'BUSY', { 'Retry-After': '1' }],
    ['a bug', new TypeError('x is not a function'), 500, 'INTERNAL_ERROR', {}],
    ['a thrown string', 'secret detail', 500, 'INTERNAL_ERROR', {}],
    ['nothing', undefined, 500, 'INTERNAL_ERROR', {}],
    ['bad JSON', new BadRequestException('Unexpected token'), 400, 'INVALID_JSON', {}],
    ['a bad path', new BadRequestException("Failed to decode param '%E0'"), 400, 'INVALID_REQUEST', {}],
    ['a large body', ofBodyParser('entity.too.large', 413), 413, 'BODY_TOO_LARGE', {}],
    ['an unsupported encoding', ofBodyParser('encoding.unsupported', 415), 415, 'UNSUPPORTED_MEDIA_TYPE', {}],
    ['an aborted request', ofBodyParser('request.aborted', 400), 400, 'INVALID_REQUEST', {}],
    ['an error type with an inherited name', ofBodyParser('constructor', 400), 400, 'INVALID_REQUEST', {}],
    ['an error of a host guard', new HttpException('too fast', 429), 429, 'HTTP_429', {}],
  ])('distinguish %s', (_, error, status, code, headers) => {
    const answer = toProblem(error, request);
    expect(answer).toMatchObject({ status, headers, body: { status, code } });
    expect(JSON.stringify(answer)).not.toContain('secret detail');
  });

  it('distinguish a wrong method from a wrong path', () => {
    const missing = new NotFoundException('Cannot DELETE');
    expect(toProblem(missing, { method: 'DELETE', url: '/orders/1?x=2' })).toMatchObject({
      status: 405,
      headers: { Allow: 'GET, HEAD' },
    });
    expect(toProblem(missing, { method: 'DELETE', url: '/other' })).toMatchObject({ status: 404 });
    expect(methodsOf('/orders/')).toEqual(['GET', 'HEAD', 'POST']);
    expect(methodsOf('/')).toBeUndefined();
  });

  it('each have a status and a title', () => {
    for (const { status, title } of Object.values(PROBLEMS)) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(title.length).toBeGreaterThan(10);
    }
  });
});
