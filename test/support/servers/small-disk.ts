import { execFile, execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, rmdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Size {
  /** As `mount` takes it, for example `24m`. */
  readonly size: string;
  /** A file or folder of the server that writes to the disk. */
  readonly likeOwnerOf: string;
}

/** A disk in memory that can be filled. A mount needs root. */
export class SmallDisk {
  private constructor(readonly path: string) {}

  static isPossible(): boolean {
    try {
      SmallDisk.mount({ size: '1m', likeOwnerOf: tmpdir() }).unmount();
      return true;
    } catch {
      return false;
    }
  }

  /** @throws Error where nothing may be mounted. */
  static mount({ size, likeOwnerOf }: Size): SmallDisk {
    const { uid, gid } = statSync(likeOwnerOf);
    const path = mkdtempSync(join(tmpdir(), 'small-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], { stdio: 'pipe' });
    } catch (error) {
      rmdirSync(path);
      throw error;
    }
    chownSync(path, uid, gid);
    return new SmallDisk(path);
  }

  /** To the last page. */
  fill(): Promise<void> {
    const args = ['if=/dev/zero', `of=${this.filler}`, 'bs=64k'];
    return new Promise((resolve, reject) => {
      execFile('dd', args, { env: { ...process.env, LC_ALL: 'C' } }, (error) => {
        if (error?.message.includes('No space left')) resolve();
        else reject(error ?? new Error(`${this.path} has no end`));
      });
    });
  }

  free(): void {
    rmSync(this.filler, { force: true });
  }

  unmount(): void {
    execFileSync('umount', [this.path]);
    rmdirSync(this.path);
  }

  private get filler(): string {
    return join(this.path, 'filler');
  }
}
