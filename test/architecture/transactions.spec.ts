import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const source = join(__dirname, '../../src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

const matching = (pattern: RegExp) => files.filter((name) => pattern.test(code(name))).sort();

/** Files of the product that open a transaction, or a savepoint, themselves. `Database` uses the one place. */
const opening = matching(/(?<!this|database)\.(?:transaction|startTransaction)\(/);
const savepoints = matching(/[`']SAVEPOINT /);

/** Without comments and texts, which may speak of transactions. */
function code(name: string): string {
  const text = readFileSync(join(source, name), 'utf8');
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|"[^"\n]*"/gm, '');
}

describe('transactions', () => {
  it('are opened in one place, which names the isolation level, and as savepoints of the caller in another', () => {
    expect(opening).toEqual(['database/transaction.ts']);
    expect(savepoints).toEqual(['database/host-transactions/host-call.ts', 'database/transaction.ts']);
  });
});
