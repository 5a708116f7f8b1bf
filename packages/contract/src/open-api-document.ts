import { z } from 'zod';
import {
  assignmentSchema,
  autoCloseSchema,
  cancellationSchema,
  chosenTimeoutsSchema,
  closeSchema,
  newOrdersSchema,
  reasonSchema,
  stockChangeSchema,
  type ProblemCode,
  PROBLEMS,
} from '../../../src/api/input';
import {
  bulkActionSchema,
  bulkExtensionSchema,
  newAttemptSchema,
  newDeadlineSchema,
  newOrderSchema,
  refundSchema,
  reportedPaymentSchema,
} from '../../../src/orders/input';
import { type OpenItem } from '../../../src/orders';
import { jsonSchemas, jsonSchema, type JsonSchema, describes, instant, money } from './json-schemas';
import { TAGS, type Answer, type Operation } from './order-operations';
import { OPERATIONS } from './operations';
import {
  bulkOutcomeAnswer,
  bulkResultAnswer,
  livenessAnswer,
  readinessAnswer,
  historyAnswer,
  historyEntryAnswer,
  attemptAnswer,
  orderAnswer,
  orderLineAnswer,
  orderListAnswer,
  assignedAnswer,
  paidAnswer,
  refundAnswer,
  placementAnswer,
  placementsAnswer,
  stockAnswer,
  countAnswer,
  parkedTimeoutAnswer,
  parkedTimeoutsAnswer,
  republishAnswer,
  unmatchedPaymentAnswer,
  unmatchedPaymentsAnswer,
  orderStatus,
  unmatchedHandling,
  unmatchedReason,
} from './answers';

const KEY_HINT = 'Each operation names the scopes of which a key needs one. `*` allows everything.';

/** Pure: the OpenAPI 3.1 document of the HTTP API. @param version of the package */
export function openApiDocument(version: string): Component {
  const paths: Record<string, Record<string, Component>> = {};
  for (const [route, operation] of Object.entries(OPERATIONS)) {
    const [method = '', path = ''] = route.split(' ');
    const template = path.replace(/:(\w+)/g, '{$1}');
    paths[template] = { ...paths[template], [method.toLowerCase()]: describeOperation(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'nestjs-order-timeout',
      version,
      description:
        'Closes unpaid orders on time. Money is in minor units. Times are ISO 8601. Unknown fields of requests are rejected; ignore unknown fields of answers. The W3C header `traceparent` is stored in the history, and continued in the events.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to the place of the document, so that it is right behind any prefix.
    servers: [{ url: '.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: jsonSchemas(NAMED_SCHEMAS, SCHEMAS_AT, 'draft-2020-12'),
      responses: commonResponses(),
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: KEY_HINT },
        bearer: { type: 'http', scheme: 'bearer', description: `The same key. ${KEY_HINT}` },
      },
    },
  };
}

const DIALECT = 'draft-2020-12';

/** Pure: one operation of the document. */
function describeOperation(operation: Operation): Component {
  const { id, tag, summary, description, scopes, body } = operation;
  const parameters = parametersOf(operation);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: (scopes ?? []).flatMap((scope) => [{ apiKey: [scope] }, { bearer: [scope] }]),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(body) }),
    responses: responsesOf(operation),
  };
}

function parametersOf({ params = {}, query, headers = {} }: Operation): Component[] {
  return [
    ...Object.entries(params).map(([name, schema]) => parameter('path', name, schema)),
    ...Object.entries(query?.shape ?? {}).map(([name, schema]) => parameter('query', name, schema as z.ZodType)),
    ...Object.entries(headers).map(([name, schema]) => parameter('header', name, schema)),
  ];
}

function parameter(place: 'path' | 'query' | 'header', name: string, schema: z.ZodType): Component {
  const { description, ...rest } = jsonSchema(schema, DIALECT);
  return {
    name,
    in: place,
    required: place === 'path',
    ...(description === undefined ? {} : { description }),
    schema: rest,
  };
}

function requestBody(body: z.ZodType | 'any'): Component {
  if (body === 'any') return { required: false, content: { '*/*': { schema: {} } } };
  // A body with a default may be absent.
  return { required: !(body instanceof z.ZodDefault), content: { 'application/json': { schema: refTo(body) } } };
}

function responsesOf(operation: Operation): Component {
  const { answers, problems = [] } = operation;
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problems) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return {
    ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, response(answer)])),
    ...Object.fromEntries([...byStatus].map(([status, codes]) => [String(status), problemResponse(codes)])),
    ...commonResponsesOf(operation),
    default: { $ref: '#/components/responses/OtherProblem' },
  };
}

function response({ description, schema, mediaType }: Answer): Component {
  if (schema) return { description, content: { 'application/json': { schema: refTo(schema) } } };
  if (mediaType === undefined) return { description };
  return {
    description,
    content: { [mediaType]: { schema: mediaType === 'application/json' ? { type: 'object' } : {} } },
  };
}

/** A component of the document. */
type Component = Readonly<Record<string, unknown>>;

const RETRY_AFTER = { 'Retry-After': { description: 'In seconds', schema: { type: 'integer' } } };

/** Responses that most routes share, by name and status. */
const COMMON = {
  BadRequest: { status: 400, codes: ['VALIDATION_FAILED', 'INVALID_JSON', 'INVALID_REQUEST'] },
  Unauthorized: { status: 401, codes: ['UNAUTHORIZED'] },
  Forbidden: { status: 403, codes: ['FORBIDDEN'] },
  BodyTooLarge: { status: 413, codes: ['BODY_TOO_LARGE'] },
  UnsupportedMediaType: { status: 415, codes: ['UNSUPPORTED_MEDIA_TYPE'] },
  RateLimited: { status: 429, codes: ['RATE_LIMITED'] },
  InternalError: { status: 500, codes: ['INTERNAL_ERROR'] },
  Unavailable: { status: 503, codes: ['DATABASE_UNAVAILABLE', 'BUSY'] },
} as const satisfies Record<string, { status: number; codes: readonly ProblemCode[] }>;

type CommonName = keyof typeof COMMON;

/** `components.responses`. */
function commonResponses(): Readonly<Record<string, Component>> {
  const named = Object.entries(COMMON).map(([name, { codes }]) => [name, problemResponse(codes)] as const);
  const other = { description: 'Another problem, such as one of a proxy', content: problemContent('Problem') };
  return { ...Object.fromEntries(named), OtherProblem: other };
}

/** The common responses of a route that needs a key, by status. Those of other routes are in their own list. */
function commonResponsesOf({ scopes, body, problems = [] }: Operation): Readonly<Record<string, Component>> {
  if (!scopes) return {};
  const ofBody: readonly CommonName[] = body ? ['BodyTooLarge', 'UnsupportedMediaType'] : [];
  const names: readonly CommonName[] = [
    ...(['BadRequest', 'Unauthorized', 'Forbidden'] as const),
    ...ofBody,
    ...(['RateLimited', 'InternalError', 'Unavailable'] as const),
  ];
  return Object.fromEntries(names.map((name) => [String(COMMON[name].status), responseOf(name, problems)]));
}

/** A route that has codes of its own with this status lists them all. */
function responseOf(name: CommonName, problems: readonly ProblemCode[]): Component {
  const { status, codes } = COMMON[name];
  const own = problems.filter((code) => PROBLEMS[code].status === status);
  return own.length === 0 ? { $ref: `#/components/responses/${name}` } : problemResponse([...codes, ...own]);
}

/** A response with one of these problems, which have one status. */
function problemResponse(codes: readonly ProblemCode[]): Component {
  const [first, ...others] = codes.map(problemName);
  const isLater = codes.some((code) => [429, 503].includes(PROBLEMS[code].status));
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('; '),
    headers: { 'X-Request-Id': { schema: { type: 'string' } }, ...(isLater ? RETRY_AFTER : {}) },
    content: others.length === 0 ? problemContent(first ?? 'Problem') : { [PROBLEM_JSON]: { schema: oneOf(codes) } },
  };
}

const PROBLEM_JSON = 'application/problem+json';

function problemContent(name: string): Component {
  return { [PROBLEM_JSON]: { schema: { $ref: `${SCHEMAS_AT}${name}` } } };
}

/** Programs tell the problems of one status apart by their code. */
function oneOf(codes: readonly ProblemCode[]): JsonSchema {
  const at = (code: ProblemCode): string => `${SCHEMAS_AT}${problemName(code)}`;
  return {
    oneOf: codes.map((code) => ({ $ref: at(code) })),
    discriminator: { propertyName: 'code', mapping: Object.fromEntries(codes.map((code) => [code, at(code)])) },
  };
}

const openItem = describes<OpenItem>()(
  z.enum(['timeout', 'refund', 'attempt', 'unmatched-money', 'reservation', 'event']),
);

const ofOrder = { orderStatus };

/** Further members of problems. */
const MEMBERS: Partial<Record<ProblemCode, z.ZodRawShape>> = {
  VALIDATION_FAILED: { errors: z.array(z.object({ path: z.string(), message: z.string() })).describe('At most 50') },
  OUT_OF_STOCK: { shortages: z.array(z.object({ sku: z.string(), wanted: z.int(), available: z.int() })) },
  UNKNOWN_SKU: { skus: z.array(z.string()) },
  PAYMENT_WINDOW_OUT_OF_RANGE: { minMs: z.int(), maxMs: z.int() },
  TOO_MANY_ATTEMPTS: { limit: z.int() },
  PROVIDER_NOT_CONFIGURED: { provider: z.string() },
  MERCHANT_ACCOUNT_NOT_CONFIGURED: { provider: z.string(), merchantAccount: z.string().nullable() },
  ORDER_NOT_CANCELLABLE: ofOrder,
  ORDER_NOT_FINISHED: ofOrder,
  ORDER_NOT_REVIVABLE: ofOrder,
  ORDER_NOT_CLOSABLE: ofOrder,
  PAYMENT_NEEDED: ofOrder,
  ORDER_HAS_OPEN_ITEMS: { open: z.array(openItem) },
  ORDER_HAS_MONEY: { payments: z.array(z.object({ provider: z.string(), reference: z.string() })) },
  DEADLINE_OUT_OF_RANGE: { latest: instant },
  UNMATCHED_PAYMENT_HANDLED: { handling: unmatchedHandling },
  UNMATCHED_PAYMENT_HAS_ORDER: { reason: unmatchedReason },
  PAYMENT_DISPUTED: { paidAmount: money, paidCurrency: z.string() },
  PAYMENT_NOT_BOOKABLE: { amount: money, currency: z.string() },
  PAYMENT_NOT_CONFIRMED: { says: z.string().describe('What the provider says') },
  STOCK_BELOW_RESERVED: { reserved: z.int() },
  STOCK_CHANGED: { onHand: z.int(), reserved: z.int(), available: z.int() },
  STOCK_TOO_LARGE: { max: z.int() },
};

const requestId = z.string().describe('Find it in the log');

/** Every body, by the name of its type in generated clients. */
export const NAMED_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  NewOrder: newOrderSchema,
  NewOrderLine: newOrderSchema.shape.lines.unwrap().element,
  NewOrders: newOrdersSchema,
  NewAttempt: newAttemptSchema,
  ReportedPayment: reportedPaymentSchema,
  NewDeadline: newDeadlineSchema,
  Cancellation: cancellationSchema,
  AutoClose: autoCloseSchema,
  Refund: refundSchema,
  ManualClose: closeSchema,
  Reason: reasonSchema,
  BulkAction: bulkActionSchema,
  BulkExtension: bulkExtensionSchema,
  BulkFilter: bulkActionSchema.shape.filter,
  Assignment: assignmentSchema,
  StockChange: stockChangeSchema,
  ChosenTimeouts: chosenTimeoutsSchema,
  ChosenTimeout: chosenTimeoutsSchema.shape.timeouts.element,
  Order: orderAnswer,
  OrderLine: orderLineAnswer,
  Attempt: attemptAnswer,
  HistoryEntry: historyEntryAnswer,
  History: historyAnswer,
  OrderList: orderListAnswer,
  Placement: placementAnswer,
  Placements: placementsAnswer,
  BulkResult: bulkResultAnswer,
  BulkOutcome: bulkOutcomeAnswer,
  PaymentResult: paidAnswer,
  RefundResult: refundAnswer,
  AssignmentResult: assignedAnswer,
  UnmatchedPayment: unmatchedPaymentAnswer,
  UnmatchedPayments: unmatchedPaymentsAnswer,
  StockLevel: stockAnswer,
  ParkedTimeout: parkedTimeoutAnswer,
  ParkedTimeouts: parkedTimeoutsAnswer,
  Count: countAnswer,
  Republication: republishAnswer,
  Liveness: livenessAnswer,
  Readiness: readinessAnswer,
  ...problemSchemas(),
};

const NAMES: ReadonlyMap<z.ZodType, string> = new Map(
  Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [schema, name]),
);

/** Where the document keeps the schema. Throws if the schema has no name, which is a bug. */
function refTo(schema: z.ZodType): { readonly $ref: string } {
  const name = NAMES.get(schema);
  if (name === undefined) throw new Error('a schema of the API has no name; add it to NAMED_SCHEMAS');
  return { $ref: `${SCHEMAS_AT}${name}` };
}

/** Where OpenAPI and AsyncAPI keep schemas. */
const SCHEMAS_AT = '#/components/schemas/';

function problemSchema(code: ProblemCode): z.ZodType {
  const { status, title } = PROBLEMS[code];
  return z
    .object({
      type: z.literal(`urn:order-timeout:problem:${code}`),
      title: z.string(),
      status: z.literal(status),
      code: z.literal(code),
      detail: z.string().describe('A sentence with the values, and what to do'),
      ...MEMBERS[code],
      ...(status >= 500 ? { requestId } : {}),
    })
    .describe(title);
}

/** Name of a problem's schema: `OUT_OF_STOCK` is OutOfStockProblem. */
export function problemName(code: ProblemCode): string {
  const words = code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return `${words}Problem`;
}

/** Every problem of the API by name, and `Problem` for those of a proxy or of a host's own guards. */
function problemSchemas(): Readonly<Record<string, z.ZodType>> {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  const anyProblem = z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.int(),
      code: z.string(),
      detail: z.string(),
      requestId: requestId.exactOptional(),
    })
    .describe('A problem (RFC 9457)');
  return { ...Object.fromEntries(codes.map((code) => [problemName(code), problemSchema(code)])), Problem: anyProblem };
}
