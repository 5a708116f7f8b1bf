import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';

const ROOT = join(__dirname, '../..');
/** What differs is left here for a person to look at. */
const SEEN = join(ROOT, 'coverage/operator-pictures');
/** Anti-aliasing differs a little between machines. A word that is missing or has moved differs by more. */
const MAX_PIXELS = 150;
const THRESHOLD = 0.25;

/**
 * Compares a screenshot with the approved one. With UPDATE_PICTURES=1 it is approved instead.
 *
 * @param file the approved picture, from the root of the repository
 * @throws Error if they differ, or if there is none
 */
export function expectSamePicture(file: string, screenshot: Buffer): void {
  const approved = join(ROOT, file);
  if (process.env['UPDATE_PICTURES']) {
    mkdirSync(dirname(approved), { recursive: true });
    writeFileSync(approved, screenshot);
    return;
  }
  if (!existsSync(approved)) throw new Error(`there is no approved picture ${file}; set UPDATE_PICTURES=1`);
  const pixels = differenceOf(PNG.sync.read(readFileSync(approved)), PNG.sync.read(screenshot));
  if (pixels <= MAX_PIXELS) return;
  mkdirSync(SEEN, { recursive: true });
  const seen = join(SEEN, basename(file));
  writeFileSync(seen, screenshot);
  throw new Error(`${pixels} pixels of ${file} differ; compare it with ${seen}, or set UPDATE_PICTURES=1`);
}

/** How many pixels differ; pictures of another size differ entirely. */
function differenceOf(one: PNG, other: PNG): number {
  const { width, height } = one;
  if (width !== other.width || height !== other.height) return width * height;
  return pixelmatch(one.data, other.data, undefined, width, height, { threshold: THRESHOLD });
}
