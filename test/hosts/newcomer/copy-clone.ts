import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { REPOSITORY } from '../../support/snippets';

/** Copies what git knows, and the packages and the build of this clone: both are made the same way in any clone. */
export function copyClone(target: string): void {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: REPOSITORY, encoding: 'utf8' }).split('\0');
  const ignored = ['', 'node_modules']; // A linked folder of packages is a file to git.
  for (const path of [...listed.filter((name) => !ignored.includes(name)), 'dist']) {
    if (!existsSync(join(REPOSITORY, path))) continue;
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(REPOSITORY, path), join(target, path), { recursive: true });
  }
  symlinkSync(join(REPOSITORY, 'node_modules'), join(target, 'node_modules'));
}
