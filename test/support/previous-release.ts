import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(__dirname, '..', '..');

/** The release that runs beside this one while this one is rolled out. Set it to the commit of each release that is made. */
const PREVIOUS_RELEASE = 'a7ae1d1bd19073f7abcf85238677573b1c14fe29';

/** The sources of the release before, in a folder of their own, with the packages of this one. */
export interface PreviousRelease {
  readonly folder: string;
  remove(): Promise<void>;
}

/** Takes them from the history: in a shallow clone there is none, and `git fetch --unshallow` gets it. @param paths what to take */
export async function unpackPreviousRelease(
  paths: readonly string[] = ['src', 'package.json'],
): Promise<PreviousRelease> {
  const folder = await mkdtemp(join(tmpdir(), 'order-timeout-release-'));
  const archive = join(folder, 'release.tar');
  await run('git', ['archive', '-o', archive, PREVIOUS_RELEASE, ...paths], { cwd: root });
  await run('tar', ['-xf', archive, '-C', folder]);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

/** False where the sources have no history, as in a shallow clone or an unpacked archive. */
export function hasHistory(): boolean {
  const { stdout } = spawnSync('git', ['rev-parse', '--is-shallow-repository'], { cwd: root, encoding: 'utf8' });
  return (stdout ?? '').trim() === 'false';
}
