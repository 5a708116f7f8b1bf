import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const repository = join(__dirname, '../..');
const approved = join(__dirname, 'public-api.txt');

/** `name` or `type name` of everything that an entry point exports, line by line. */
function exportsOf(entry: string): string[] {
  const file = join(repository, entry);
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) return [];
    const { exportClause, isTypeOnly } = statement;
    if (!exportClause || !ts.isNamedExports(exportClause)) throw new Error(`${entry}: export every name by itself`);
    return exportClause.elements.map((one) => `${isTypeOnly || one.isTypeOnly ? 'type ' : ''}${one.name.text}`);
  });
}

const entries = {
  'nestjs-order-timeout': 'src/index.ts',
  'nestjs-order-timeout/testing': 'src/testing/index.ts',
  'nestjs-order-timeout/alipay': 'src/payments/alipay/index.ts',
  'nestjs-order-timeout/wechat-pay': 'src/payments/wechat-pay/index.ts',
  'nestjs-order-timeout/stripe': 'src/payments/stripe/index.ts',
  'nestjs-order-timeout-payment-simulator': 'packages/payment-simulator/src/index.ts',
};

const read = (path: string) => readFileSync(path, 'utf8');

function describeApi(): string {
  return Object.entries(entries)
    .map(([name, entry]) => `# ${name}\n${exportsOf(entry).sort().join('\n')}\n`)
    .join('\n');
}

describe('the public API', () => {
  it('is the approved one (UPDATE_PUBLIC_API=1 approves what there is, for a release that says so)', () => {
    const actual = describeApi();
    if (process.env.UPDATE_PUBLIC_API) writeFileSync(approved, actual);
    expect(actual).toBe(readFileSync(approved, 'utf8'));
  });

  it('is what the package lets in, and nothing deeper', () => {
    const { exports } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { exports: object };
    expect(Object.keys(exports)).toEqual(['.', './testing', './alipay', './wechat-pay', './stripe', './package.json']);
  });

  it('is type-checked from src, so that the examples need no build', () => {
    const { config } = ts.readConfigFile(join(repository, 'tsconfig.json'), read) as {
      config: { compilerOptions: { paths: Record<string, string[]> } };
    };
    const expected = Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, [`./${entry}`]]));
    expect(config.compilerOptions.paths).toEqual(expected);
  });
});
