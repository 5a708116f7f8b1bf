import { Conformance, type Exchange } from '../../contract/conformance';

const conformance = new Conformance();
const stock = { sku: 'apple', onHand: 1, reserved: 0, available: 1 };
const read: Exchange = {
  method: 'get',
  path: '/inventory/apple?x=1',
  status: 200,
  contentType: 'application/json; charset=utf-8',
  body: stock,
};
const set: Exchange = { ...read, method: 'put', sent: { onHand: 1 } };

describe('the comparison of answers with the document', () => {
  it.each([
    ['an answer', read],
    ['a request that was accepted', set],
    ['a request that was rejected', { ...set, sent: { onHand: 'one' }, ...problem(400, 'INVALID_JSON') }],
    ['an unknown path', { ...read, path: '/nothing', status: 404 }],
    ['a problem', { ...read, ...problem(404, 'SKU_NOT_FOUND') }],
  ])('accepts %s', (_, exchange) => expect(conformance.problemsOf(exchange)).toEqual([]));

  it.each([
    ['a member too many', { ...read, body: { ...stock, color: 'red' } }, 'additional properties'],
    ['a missing member', { ...read, body: { ...stock, onHand: undefined } }, "required property 'onHand'"],
    ['another status', { ...read, status: 418 }, 'the status is not described'],
    ['another type', { ...read, contentType: 'text/plain' }, 'content type "text/plain" is not described'],
    ['an unknown path', { ...read, path: '/nothing' }, 'is not described'],
    ['the problem of another route', { ...read, ...problem(404, 'ORDER_NOT_FOUND') }, '"allowedValue":"SKU_NOT_FOUND"'],
    [
      'a request that the document forbids',
      { ...set, sent: { onHand: 1, add: 1 } },
      '/inventory/apple 200: the body must',
    ],
  ])('names %s', (_, exchange, problem) => {
    expect(conformance.problemsOf(exchange).join('; ')).toContain(problem);
  });

  it('names an unknown event, and what an event lacks', () => {
    expect(conformance.problemsOfEvent('order.lost', {})).toEqual(['the event order.lost is not described']);
    expect(conformance.problemsOfEvent('order.closed', {}).join()).toContain("required property 'orderVersion'");
  });

  it('names an unknown reply, and what a reply has too much or lacks', () => {
    expect(conformance.problemsOfReply('stock.read', stock)).toEqual([]);
    expect(conformance.problemsOfReply('stock.lost', stock)).toEqual(['the reply to stock.lost is not described']);
    expect(conformance.problemsOfReply('stock.read', { ...stock, color: 'red' }).join()).toContain(
      'additional properties',
    );
    const refusal = { code: 'SKU_NOT_FOUND', message: 'there is no SKU "x"', more: 1 };
    expect(conformance.problemsOfReply('stock.read', { error: refusal })).toEqual([]);
    const problems = conformance.problemsOfReply('stock.read', { error: { ...refusal, code: undefined } });
    expect(problems.join()).toContain("required property 'code'");
  });
});

function problem(status: number, code: string): Pick<Exchange, 'status' | 'contentType' | 'body'> {
  const body = { type: `urn:order-timeout:problem:${code}`, title: 't', status, code, detail: 'd' };
  return { status, contentType: 'application/problem+json; charset=utf-8', body };
}
