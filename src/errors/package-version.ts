import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of this package. It is as far from package.json in `src` as in `dist`. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8'));
  return (manifest as { version: string }).version;
}
