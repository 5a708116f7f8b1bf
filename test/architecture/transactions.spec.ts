import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const source = join(__dirname, '../../src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

/** Files of the product that open a transaction, or a savepoint, themselves. */
const opening = files.filter((name) => /(?<!this)\.(?:transaction|startTransaction)\(/.test(code(name)));

/** Without comments and texts, which may speak of transactions. */
function code(name: string): string {
  const text = readFileSync(join(source, name), 'utf8');
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|"[^"\n]*"/gm, '');
}

describe('transactions', () => {
  it('are opened in one place, which names the isolation level, and as savepoints of the caller in another', () => {
    expect(opening.sort()).toEqual(['database/own-transaction.ts', 'database/run-transaction.ts']);
    expect(code('database/run-transaction.ts').match(/\S+\.transaction\(/g)).toEqual(['caller.transaction(']);
  });
});
