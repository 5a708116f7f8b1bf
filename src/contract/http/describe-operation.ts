import { z } from 'zod';
import { type ProblemCode, PROBLEMS } from '../../api/http';
import { jsonSchema } from '../schema/json-schemas';
import { commonResponsesOf, type Component, problemResponse } from './common-problems';
import { refTo } from './named-schemas';
import { type Answer, type Operation } from './operation';

const DIALECT = 'draft-2020-12';

/** Pure: one operation of the document. */
export function describeOperation(operation: Operation): Component {
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
