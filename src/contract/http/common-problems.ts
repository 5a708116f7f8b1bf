import { type ProblemCode, PROBLEMS } from '../../api/http';
import { type JsonSchema } from '../schema/json-schemas';
import { SCHEMAS_AT } from './named-schemas';
import { type Operation } from './operation';
import { problemName } from './problem-schemas';

/** A component of the document. */
export type Component = Readonly<Record<string, unknown>>;

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
export function commonResponses(): Readonly<Record<string, Component>> {
  const named = Object.entries(COMMON).map(([name, { codes }]) => [name, problemResponse(codes)] as const);
  const other = { description: 'Another problem, such as one of a proxy', content: problemContent('Problem') };
  return { ...Object.fromEntries(named), OtherProblem: other };
}

/** The common responses of a route that needs a key, by status. Those of other routes are in their own list. */
export function commonResponsesOf({ scopes, body, problems = [] }: Operation): Readonly<Record<string, Component>> {
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
export function problemResponse(codes: readonly ProblemCode[]): Component {
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
