import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractFiles, DOCS } from './contract-files';
import { staleFiles } from './stale-files';

const isUpdate = process.argv.includes('--update');
const stale = staleFiles();

if (isUpdate) update(stale);
else if (stale.length > 0) {
  process.stderr.write(
    `${stale.map((path) => `docs/${path}`).join(', ')} differ from the schemas in src: run npm run contract -- --update, ` +
      'and commit the files with a changelog entry\n',
  );
  process.exitCode = 1;
}

function update(paths: readonly string[]): void {
  const files = contractFiles();
  mkdirSync(join(DOCS, 'messages'), { recursive: true });
  for (const path of paths) {
    const content = files.get(path);
    if (content === undefined) rmSync(join(DOCS, path));
    else writeFileSync(join(DOCS, path), content);
    process.stdout.write(`${content === undefined ? 'removed' : 'wrote'} docs/${path}\n`);
  }
  process.stdout.write(`${readdirSync(join(DOCS, 'messages')).length} files of messages\n`);
}
