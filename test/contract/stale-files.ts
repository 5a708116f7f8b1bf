import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractFiles, DOCS } from './contract-files';

/** Files below `docs` that differ from what is generated, are missing, or belong to a message that is gone. */
export function staleFiles(): readonly string[] {
  const files = contractFiles();
  const kept = existsSync(join(DOCS, 'messages')) ? readdirSync(join(DOCS, 'messages')) : [];
  const gone = kept.map((name) => join('messages', name)).filter((path) => !files.has(path));
  const changed = [...files].filter(([path, content]) => contentOf(path) !== content).map(([path]) => path);
  return [...changed, ...gone];
}

function contentOf(path: string): string | undefined {
  const file = join(DOCS, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
