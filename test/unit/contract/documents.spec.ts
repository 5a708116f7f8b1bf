import { readFileSync } from 'node:fs';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import { Validator as OpenApiValidator } from '@seriousme/openapi-schema-validator';
import { PROBLEMS } from '../../../src/api/input';
import { ANSWERS, REFUSAL, COMMANDS, REQUESTS } from '../../../packages/contract/src/messages';
import { EVENTS, type Message } from '../../../packages/contract/src/events';
import { NAMED_SCHEMAS, problemName } from '../../../packages/contract/src/open-api-document';
import { contractDocuments } from '../../../packages/contract/src/contract-files';
import { staleFiles } from '../../../packages/contract/src/stale-files';
import { Validator } from '../../contract/validator';

const { openApi, asyncApi } = contractDocuments();

/** The problem of methods that the document does not have, and those of the operator page and of commands alone. */
const ELSEWHERE = ['CROSS_SITE_REQUEST', 'METHOD_NOT_ALLOWED', 'SKU_OF_ANOTHER_MERCHANT'] as const;

describe('the documents of the API', () => {
  it('are in docs and rabbit as src makes them; npm run contract -- --update writes them', () => {
    expect(staleFiles()).toEqual([]);
  });

  it('are OpenAPI 3.1', async () => {
    const validator = new OpenApiValidator();
    expect(await validator.validate(openApi)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('are AsyncAPI 3', () => {
    const path = require.resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json');
    const ajv = new Ajv({ strict: false, validateFormats: false });
    addFormats(ajv);
    const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')) as object);
    validate(asyncApi);
    expect(validate.errors).toBeNull();
  });

  it.each([
    ['OpenAPI', openApi],
    ['AsyncAPI', asyncApi],
  ])('refer in %s only to what they have', (_, document) => {
    for (const pointer of refsIn(document))
      expect([pointer, resolve(document, pointer)]).not.toEqual([pointer, undefined]);
  });

  it('say something about every field', () => {
    const { components } = openApi as { components: { schemas: Record<string, unknown> } };
    expect(Object.entries(components.schemas).flatMap(([name, schema]) => unsaid(schema, name))).toEqual([]);
  });

  it('have a place for every problem', () => {
    const text = JSON.stringify((openApi as { paths: object }).paths) + JSON.stringify(openApi['components']);
    expect(Object.keys(PROBLEMS).filter((code) => !text.includes(`\`${code}\`:`))).toEqual(ELSEWHERE);
  });

  it('use every schema that they have', () => {
    const used = new Set([...refsIn(openApi)].map((pointer) => pointer.split('/').at(-1)));
    const unused = Object.keys(NAMED_SCHEMAS).filter((name) => !used.has(name));
    expect(unused).toEqual(ELSEWHERE.map((code) => problemName(code)));
  });
});

describe('the examples of messages', () => {
  const validator = new Validator(asyncApi, 'draft-07');
  const messages = [COMMANDS, REQUESTS, ANSWERS, EVENTS, { REFUSAL }].flatMap((group): Message[] =>
    Object.values(group),
  );

  it.each(messages.map((message) => [message.name, message] as const))('fit their schema: %s', (name, { example }) => {
    expect(validator.problems(`#/components/messages/${name}/payload`, example)).toEqual([]);
  });

  it.each(Object.entries({ ...COMMANDS, ...REQUESTS }))('are taken by the service: %s', (_, { schema, example }) => {
    expect(schema.safeParse(example)).toMatchObject({ success: true });
  });
});

describe('the conditions between fields', () => {
  const validator = new Validator(openApi, 'draft-2020-12');
  const at = '2030-01-01T00:00:00Z';

  it.each([
    ['NewDeadline', { expiresAt: at }, true],
    ['NewDeadline', { byMs: 1 }, true],
    ['NewDeadline', { expiresAt: at, byMs: 1 }, false],
    ['NewDeadline', {}, false],
    ['StockChange', { add: 1 }, true],
    ['StockChange', { onHand: 1, expected: 0 }, true],
    ['StockChange', { add: 1, onHand: 1 }, false],
    ['StockChange', { add: 1, expected: 1 }, false],
    ['StockChange', {}, false],
  ])('are those of the service: %s %j', (name, body, isValid) => {
    expect(validator.problems(`#/components/schemas/${name}`, body).length === 0).toBe(isValid);
    expect(NAMED_SCHEMAS[name]?.safeParse(body).success).toBe(isValid);
  });

  it('are those of the service: a new order has one deadline', () => {
    const order = { id: 'a', amount: 1, currency: 'EUR', lines: [], paymentWindowMs: 1 };
    expect(validator.problems('#/components/schemas/NewOrder', order)).toEqual([]);
    expect(validator.problems('#/components/schemas/NewOrder', { ...order, expiresAt: at })).toHaveLength(1);
  });
});

function refsIn(node: unknown): Set<string> {
  if (typeof node !== 'object' || node === null) return new Set();
  const own = '$ref' in node && typeof node.$ref === 'string' ? [node.$ref] : [];
  return new Set([...own, ...Object.values(node).flatMap((child) => [...refsIn(child)])]);
}

function resolve(document: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], document);
}

/** Fields of which a document says nothing: what only code checks needs metadata on its schema. */
function unsaid(node: unknown, at: string): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { properties = {} } = node as { properties?: Record<string, object> };
  const empty = Object.entries(properties).filter(([, schema]) => Object.keys(schema).length === 0);
  const deeper = Object.entries(node).flatMap(([key, child]) => unsaid(child, `${at}.${key}`));
  return [...empty.map(([name]) => `${at}.${name}`), ...deeper];
}
