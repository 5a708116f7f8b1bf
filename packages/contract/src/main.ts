import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { contractFiles, ROOT } from './contract-files';
import { staleFiles } from './stale-files';

const isUpdate = process.argv.includes('--update');
const stale = staleFiles();

if (isUpdate) update(stale);
else if (stale.length > 0) {
  process.stderr.write(
    `${stale.join(', ')} differ from what src makes of them: run npm run contract -- --update, ` +
      'and commit the files with a changelog entry\n',
  );
  process.exitCode = 1;
}

function update(paths: readonly string[]): void {
  const files = contractFiles();
  for (const path of paths) {
    const content = files.get(path);
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    if (content === undefined) rmSync(join(ROOT, path));
    else writeFileSync(join(ROOT, path), content);
    process.stdout.write(`${content === undefined ? 'removed' : 'wrote'} ${path}\n`);
  }
}
