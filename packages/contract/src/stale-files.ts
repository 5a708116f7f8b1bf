import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractFiles, ROOT } from './contract-files';

const MESSAGES = join('docs', 'messages');

/** Files that differ from what is generated, are missing, or belong to a message that is gone; below the repository. */
export function staleFiles(): readonly string[] {
  const files = contractFiles();
  const kept = existsSync(join(ROOT, MESSAGES)) ? readdirSync(join(ROOT, MESSAGES)) : [];
  const gone = kept.map((name) => join(MESSAGES, name)).filter((path) => !files.has(path));
  const changed = [...files].filter(([path, content]) => contentOf(path) !== content).map(([path]) => path);
  return [...changed, ...gone];
}

function contentOf(path: string): string | undefined {
  const file = join(ROOT, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
