import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(__dirname, '../..');

export const OPTIONS_PAGE = join(ROOT, 'docs/module-options.md');

/** A table: where its options stand, and the interfaces of src that have them. */
interface Section {
  readonly title: string;
  readonly text: string;
  readonly interfaces: readonly (readonly [file: string, name: string])[];
  /** Of these only some. @default all */
  readonly names?: readonly string[];
}

const SECTIONS: readonly Section[] = [
  {
    title: 'The module',
    text: 'In `forRoot`, or returned by `useFactory` of `forRootAsync`.',
    interfaces: [
      ['timeouts/model/timeouts-options', 'TimeoutsOptions'],
      ['module/order-timeout-options', 'OrderTimeoutOptions'],
    ],
  },
  {
    title: 'Beside `useFactory`',
    text: 'In `forRootAsync`, these stand next to `useFactory`.',
    interfaces: [['module/order-timeout-options', 'OrderTimeoutExtras']],
  },
  {
    title: '`orders`',
    text: 'Payment policies. `orders.merchants` has those of single merchants.',
    interfaces: [
      ['orders/model/order-policies', 'OrderPolicy'],
      ['orders/model/order-policies', 'OrderPolicyOptions'],
    ],
  },
  {
    title: '`database`',
    text: "For a connection pool of the module's own. A URL alone will do.",
    interfaces: [['database/connection-options', 'DatabaseOptions']],
  },
  { title: '`rabbit`', text: 'How to reach the broker.', interfaces: [['rabbit/rabbit-options', 'RabbitOptions']] },
  {
    title: '`ladder`',
    text: 'The [delay queues](configuration.md#number-of-delay-queues). All processes of a broker must agree on them.',
    interfaces: [['delay/ladder', 'LadderOptions']],
    names: ['base', 'unitMs'],
  },
  {
    title: '`sweep`',
    text: 'The safety net for lost wake-ups.',
    interfaces: [['timeouts/model/timeouts-options', 'SweepOptions']],
  },
  {
    title: '`retention`',
    text: 'How long finished data is kept ([retention](retention.md)). 0 keeps it forever.',
    interfaces: [['orders/retention/purge', 'RetentionOptions']],
  },
  {
    title: '`resilience.<provider>`',
    text: 'Limits for the calls to one [payment provider](payment-providers.md), by its name.',
    interfaces: [['payments/payment-provider', 'ResilienceOptions']],
  },
  {
    title: '`rateLimits`',
    text: 'Limits of the HTTP API. A request above them gets 429.',
    interfaces: [['api/http/caller.guard', 'RateLimitOptions']],
  },
  {
    title: '`webhooks`',
    text: 'Signed [webhooks](webhooks.md) about orders.',
    interfaces: [['webhooks/webhook-options', 'WebhookOptions']],
  },
  {
    title: '`webhooks.endpoints[]`',
    text: 'One receiver of webhooks.',
    interfaces: [['webhooks/webhook-options', 'WebhookEndpoint']],
  },
];

const INTRODUCTION = `# Module options

Every option of \`OrderTimeoutModule\`. The stand-alone service has [environment variables](configuration.md), and
\`@TimeoutHandler\` has [options of its own](configuration.md#options-of-a-timeout-handler). Startup fails and names every
unknown option and invalid value. Times are in milliseconds.

\`npm run diagrams\` writes this page from the comments in the code.
`;

/** The page as the code has it. @throws Error when an option has no comment. */
export function renderOptions(): string {
  return [INTRODUCTION, ...SECTIONS.map(renderSection)].join('\n');
}

function renderSection({ title, text, interfaces, names }: Section): string {
  const options = interfaces.flatMap(([file, name]) => optionsOf(file, name));
  const rows = options.filter(({ name }) => names?.includes(name) ?? true).map(renderRow);
  return `## ${title}\n\n${text}\n\n| Option | Type | Default | Meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

interface Option {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly meaning: string;
  readonly byDefault: string;
}

function optionsOf(file: string, name: string): Option[] {
  const path = join(ROOT, 'src', `${file}.ts`);
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const found = source.statements.find((each) => ts.isInterfaceDeclaration(each) && each.name.text === name);
  if (!found || !ts.isInterfaceDeclaration(found)) throw new Error(`${path} has no interface ${name}`);
  // A symbol is for our own programs.
  const properties = found.members.filter((each) => ts.isPropertySignature(each) && ts.isIdentifier(each.name));
  return properties.map((each) => optionOf(each as ts.PropertySignature, `${name}.${each.name?.getText() ?? ''}`));
}

function optionOf(property: ts.PropertySignature, name: string): Option {
  const [comment] = ts.getJSDocCommentsAndTags(property).filter(ts.isJSDoc);
  if (!comment) throw new Error(`${name} has no comment`);
  const tag = comment.tags?.find(({ tagName }) => tagName.text === 'default');
  return {
    name: property.name.getText(),
    type: (property.type?.getText() ?? '').replace(/ \| undefined$/, '').replace(/\breadonly /g, ''),
    isRequired: !property.questionToken && tag === undefined,
    meaning: textOf(comment.comment),
    byDefault: textOf(tag?.comment),
  };
}

const textOf = (comment: Parameters<typeof ts.getTextOfJSDocComment>[0]): string =>
  (ts.getTextOfJSDocComment(comment) ?? '').trim().replace(/\n- /g, '<br>').replace(/\s+/g, ' ');

function renderRow({ name, type, isRequired, meaning, byDefault }: Option): string {
  const own = SECTIONS.find(({ title }) => title.replace(/^`(.*\.)?(\w+)(\[]|\.<.*>)?`$/, '$2') === name);
  const what = own ? `[options](#${own.title.toLowerCase().replace(/[^a-z]/g, '')})` : `\`${type}\``;
  const cells = [`\`${name}\`${isRequired ? ' (required)' : ''}`, what, byDefault || '–', meaning];
  return `| ${cells.map((cell) => cell.replace(/\|/g, '\\|').replace(/\s+/g, ' ')).join(' | ')} |`;
}
