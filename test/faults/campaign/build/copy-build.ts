import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { applyPatch, type Patch } from './patch';

const root = join(__dirname, '..', '..', '..', '..');

/** Copies the build (CAMPAIGN_DIST, or the one of the repository) into `folder` and patches the copy; the product itself knows nothing of crash points. */
export function copyBuild(folder: string, patches: readonly Patch[]): string {
  const dist = join(folder, 'dist');
  const built = process.env.CAMPAIGN_DIST ?? join(root, 'dist');
  cpSync(built, dist, { recursive: true });
  // An instance reads its version from the package beside its build.
  cpSync(join(dirname(built), 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const patch of patches) {
    const file = join(dist, patch.file);
    writeFileSync(file, applyPatch(readFileSync(file, 'utf8'), patch));
  }
  return dist;
}
