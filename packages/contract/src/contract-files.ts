import { join } from 'node:path';
import { asyncApiDocument } from './async-api-document';
import { ANSWERS, REFUSAL, COMMANDS, REQUESTS } from './messages';
import { EVENTS, type Messages } from './events';
import { openApiDocument } from './open-api-document';
import { jsonSchema } from './json-schemas';
import { packageVersion } from '../../../src/errors';
import { brokerDefinitions } from './broker-definitions';

/** What the files are below. */
export const ROOT = join(__dirname, '../../..');

export const DOCS = join(ROOT, 'docs');

/** The documents as the service with its default settings serves them. */
export function contractDocuments(): Readonly<Record<'openApi' | 'asyncApi', Readonly<Record<string, unknown>>>> {
  const version = packageVersion();
  return {
    openApi: openApiDocument(version),
    asyncApi: asyncApiDocument(version),
  };
}

/** What `npm run contract -- --update` writes, by path below the repository. */
export function contractFiles(): ReadonlyMap<string, string> {
  const { openApi, asyncApi } = contractDocuments();
  return new Map(
    [
      [join('docs', 'openapi.json'), openApi] as const,
      [join('docs', 'asyncapi.json'), asyncApi] as const,
      // What the image of the broker imports.
      [join('rabbit', 'definitions.template.json'), brokerDefinitions()] as const,
      ...messageFiles('command', COMMANDS),
      ...messageFiles('request', REQUESTS),
      ...messageFiles('answer', { ...ANSWERS, refusal: REFUSAL }),
      ...messageFiles('event', EVENTS),
    ].map(([path, content]) => [path, `${JSON.stringify(content, null, 2)}\n`]),
  );
}

/** The JSON Schema and an example of each message, for programs that read no AsyncAPI. */
function messageFiles(group: string, messages: Messages): (readonly [string, object])[] {
  return Object.entries(messages).flatMap(([key, { name, schema, example }]) => {
    const path = join('docs', 'messages', `${group}.${key}`);
    const $schema = 'http://json-schema.org/draft-07/schema#';
    return [
      [`${path}.schema.json`, { $schema, title: name, ...jsonSchema(schema, 'draft-07') }] as const,
      [`${path}.example.json`, example] as const,
    ];
  });
}
