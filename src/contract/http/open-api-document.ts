import { jsonSchemas } from '../schema/json-schemas';
import { commonResponses, type Component } from './common-problems';
import { describeOperation } from './describe-operation';
import { NAMED_SCHEMAS, SCHEMAS_AT } from './named-schemas';
import { TAGS } from './operation';
import { OPERATIONS } from './operations';

/** What differs between services. */
export interface OpenApiOptions {
  /** Version of the package. */
  readonly version: string;
  /** Whether the routes of OperationsModule are there. */
  readonly hasHealth: boolean;
}

const KEY_HINT = 'Each operation names the scopes of which a key needs one. `*` allows everything.';

/** Pure: the OpenAPI 3.1 document of the HTTP API. */
export function openApiDocument({ version, hasHealth }: OpenApiOptions): Component {
  const operations = Object.entries(OPERATIONS).filter(([, { tag }]) => hasHealth || tag !== 'Health');
  const tags = new Set<string>(operations.map(([, { tag }]) => tag));
  const paths: Record<string, Record<string, Component>> = {};
  for (const [route, operation] of operations) {
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
    tags: Object.entries(TAGS).flatMap(([name, description]) => (tags.has(name) ? [{ name, description }] : [])),
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
