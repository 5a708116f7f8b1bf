import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProblemCode, PROBLEMS } from '../../../src/api/input';
import { ANSWERS, COMMANDS, REQUESTS } from '../../../packages/contract/src/messages';
import { EVENTS, type Messages } from '../../../packages/contract/src/events';
import { OPERATIONS } from '../../../packages/contract/src/operations';
import { problemName } from '../../../packages/contract/src/open-api-document';
import { contractDocuments } from '../../../packages/contract/src/contract-files';
import { REPOSITORY } from '../../support/snippets';

const page = (name: string): string => readFileSync(join(REPOSITORY, 'docs', name), 'utf8');

/** The part of a page below a heading, up to the next heading of its level. */
function section(text: string, heading: string): string {
  const level = heading.indexOf(' ');
  const from = text.indexOf(`\n${heading}\n`);
  if (from < 0) throw new Error(`there is no heading "${heading}"`);
  const rest = text.slice(from + heading.length + 2);
  return rest.split(new RegExp(`\n#{1,${level}} `))[0] ?? '';
}

/** The rows of all tables of a text, by the columns of their table. Without heads and lines. */
function rows(text: string): Record<string, string>[] {
  return text.split(/\n(?!\|)/).flatMap((block) => {
    const [head, , ...lines] = block.split('\n').filter((line) => line.startsWith('|'));
    if (head === undefined) return [];
    const columns = cells(head);
    return lines.map((line) => Object.fromEntries(cells(line).map((cell, index) => [columns[index] ?? '', cell])));
  });
}

const cells = (line: string): string[] =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());

const quoted = (text = ''): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, one = '']) => one);

/** Names in JSON such as `{"orderId","reason"?}`. */
const named = (text = ''): string[] => [...text.matchAll(/"(\w+)"/g)].map(([, one = '']) => one);

const { components } = contractDocuments().openApi as {
  components: { schemas: Record<string, { properties?: object }> };
};
const propertiesOf = (name: string): string[] => Object.keys(components.schemas[name]?.properties ?? {});

describe('docs/http-api.md', () => {
  const routes = section(page('http-api.md'), '## Routes');
  const described = rows(routes).flatMap(({ Request: request = '', ...row }) => {
    const [, method, path = '', query = ''] = /`(GET|POST|PUT) ([^`?\s]+)\??([^`\s]*)/.exec(request) ?? [];
    if (method === undefined) return [];
    return {
      route: `${method} ${path}`,
      query: query
        .split('&')
        .filter(Boolean)
        .map((one) => one.replace('=', '')),
      row,
    };
  });

  it('lists every route of the document, and no other', () => {
    expect([...new Set(described.map(({ route }) => route))].sort()).toEqual(Object.keys(OPERATIONS).sort());
  });

  it.each(described.map((one) => [one.route, one] as const))(
    'says of %s what the document says',
    (route, { row, query }) => {
      const operation = OPERATIONS[route];
      if (row['Scope'] !== undefined) expect(quoted(row['Scope'])).toEqual(operation?.scopes);
      if (query.length > 0) expect(query).toEqual(Object.keys(operation?.query?.shape ?? {}));
      const statuses = (row['Response'] ?? '').match(/\b[2-5]\d\d\b/g) ?? [];
      const known = Object.keys(operation?.answers ?? {});
      for (const status of statuses) expect(known).toContain(status);
      if (statuses.length > 0 && operation?.tag !== 'Notifications') expect([...statuses].sort()).toEqual(known);
    },
  );

  it.each(['### Manual actions on orders', '### Unmatched payments', '### Parked timeouts'])(
    'says of the routes below "%s" that they need the scope admin',
    (heading) => {
      const text = section(page('http-api.md'), heading);
      expect(text).toContain('These need the scope `admin`.');
      const found = rows(text).map(({ Request: request = '' }) => /`([A-Z]+ [^`?\s]+)/.exec(request)?.[1] ?? '');
      expect(found.map((route) => OPERATIONS[route]?.scopes)).toEqual(found.map(() => ['admin']));
    },
  );

  const problems = rows(section(page('http-api.md'), '## Errors')).flatMap((row) =>
    quoted(row['Code']).map((code) => ({ code, status: row['Status'], notes: row['Further members and notes'] })),
  );

  it('lists every problem with its status, and no other', () => {
    const known = Object.entries(PROBLEMS).map(([code, { status }]) => `${status} ${code}`);
    expect(problems.map(({ code, status }) => `${status} ${code}`).sort()).toEqual(known.sort());
  });

  it.each(problems.map((one) => [one.code, one] as const))('names the further members of %s', (code, { notes }) => {
    const common = ['type', 'title', 'status', 'code', 'detail'];
    const own = propertiesOf(problemName(code as ProblemCode)).filter((name) => !common.includes(name));
    for (const name of own) expect(notes).toContain(`\`${name}\``);
  });
});

describe('docs/amqp.md', () => {
  const amqp = page('amqp.md');

  const { schemas } = (
    contractDocuments().asyncApi as { components: { schemas: Record<string, { properties: object }> } }
  ).components;

  it.each([
    ['command', '## Commands', COMMANDS],
    ['request', '### Requests', REQUESTS],
  ] as const)('lists every %s, and the fields of each', (_, heading, messages: Messages) => {
    const found = rows(section(amqp, heading).split('\n### ')[0] ?? '').filter((row) => 'Routing key' in row);
    expect(found.flatMap((row) => quoted(row['Routing key']))).toEqual(Object.keys(messages));
    for (const row of found) {
      const [key = ''] = quoted(row['Routing key']);
      const fields = new Set(named(row['Body']));
      if (fields.size > 0)
        expect([...fields].sort()).toEqual(Object.keys(schemas[messages[key]?.name ?? '']?.properties ?? {}).sort());
    }
  });

  it('says what answers every command and request', () => {
    const found = rows(section(amqp, '## Answers')).filter((row) => 'Answer' in row);
    const keys = found.flatMap((row) => quoted(row['Command'] ?? row['Routing key']));
    expect(keys).toEqual(Object.keys(ANSWERS));
  });

  it('lists every event', () => {
    const types = rows(section(amqp, '## Events')).filter((row) => 'When' in row);
    expect(types.flatMap((row) => quoted(row['Type']))).toEqual(Object.keys(EVENTS));
  });
});
