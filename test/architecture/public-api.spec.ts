import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const repository = join(__dirname, '../..');
const reports = join(__dirname, 'public-api');

/** The names that an entry point exports one by one. */
function namesOf(entry: string): string[] {
  const file = join(repository, entry);
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) return [];
    const { exportClause } = statement;
    if (!exportClause || !ts.isNamedExports(exportClause)) throw new Error(`${entry}: export every name by itself`);
    return exportClause.elements.map((one) => one.name.text);
  });
}

const entries = {
  'nestjs-order-timeout': 'src/index.ts',
  'nestjs-order-timeout/orders': 'src/public/orders.ts',
  'nestjs-order-timeout/payments': 'src/public/payments.ts',
  'nestjs-order-timeout/rabbit': 'src/public/rabbit.ts',
  'nestjs-order-timeout/timeouts': 'src/public/timeouts.ts',
  'nestjs-order-timeout/transactions': 'src/public/transactions.ts',
  'nestjs-order-timeout/testing': 'src/testing/index.ts',
  'nestjs-order-timeout/alipay': 'src/payments/alipay/index.ts',
  'nestjs-order-timeout/wechat-pay': 'src/payments/wechat-pay/index.ts',
  'nestjs-order-timeout/stripe': 'src/payments/stripe/index.ts',
  'nestjs-order-timeout-payment-simulator': 'packages/payment-simulator/src/index.ts',
};

const read = (path: string) => readFileSync(path, 'utf8');

/** The approved report of an entry point. `npm run api` compares it with the declarations that are built. */
const reportOf = (name: string) => `${name.replace(/^nestjs-order-timeout[/-]?/, '') || 'index'}.api.md`;

describe('the public API', () => {
  it('has an approved report for each entry point, and no other', () => {
    expect(readdirSync(reports).sort()).toEqual(Object.keys(entries).map(reportOf).sort());
  });

  it.each(Object.entries(entries))('%s exports the names of its report', (name, entry) => {
    const report = readFileSync(join(reports, reportOf(name)), 'utf8');
    const approved = [...report.matchAll(/^export (?:declare |abstract )*\w+ (\w+)/gm)].map(([, one]) => one);
    expect(namesOf(entry).sort()).toEqual(approved.sort());
  });

  it('has at most 60 names at its root, and each name in one place', () => {
    const own = Object.entries(entries).filter(([name]) => name.split('/')[0] === 'nestjs-order-timeout');
    const names = own.flatMap(([, entry]) => namesOf(entry));
    expect(namesOf('src/index.ts').length).toBeLessThanOrEqual(60);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('is what the package lets in, and nothing deeper', () => {
    const { exports } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { exports: object };
    const subpaths = Object.keys(entries)
      .filter((name) => name.startsWith('nestjs-order-timeout/'))
      .map((name) => name.replace('nestjs-order-timeout', '.'));
    expect(Object.keys(exports)).toEqual(['.', ...subpaths, './package.json']);
  });

  it('is type-checked from src, so that the examples need no build', () => {
    const { config } = ts.readConfigFile(join(repository, 'tsconfig.json'), read) as {
      config: { compilerOptions: { paths: Record<string, string[]> } };
    };
    const expected = Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, [`./${entry}`]]));
    expect(config.compilerOptions.paths).toEqual(expected);
  });
});
