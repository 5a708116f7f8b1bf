import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stretched } from './machine-load';

export interface BuiltFile {
  readonly name: string;
  readonly content: Buffer;
}

const script = join(__dirname, '../../packages/operator-page/build.mjs');

/** Builds the operator page from its source, and leaves nothing behind. */
export function builtOperatorPage(): BuiltFile[] {
  const folder = mkdtempSync(join(tmpdir(), 'operator-page-'));
  try {
    execFileSync(process.execPath, [script, folder], { timeout: stretched(60_000) });
    return readdirSync(folder).map((name) => ({ name, content: readFileSync(join(folder, name)) }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
