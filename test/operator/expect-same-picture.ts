import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';

const APPROVED = join(__dirname, 'pictures');
/** What differs is left here for a person to look at. */
const SEEN = join(__dirname, '../../coverage/operator-pictures');
/** Fonts and anti-aliasing differ a little between machines; a moved or missing part differs by more. */
const MAX_SHARE = 0.02;
const THRESHOLD = 0.25;

/**
 * Compares a screenshot with the approved one. With UPDATE_PICTURES=1 it is approved instead.
 *
 * @throws Error if they differ, or if there is none
 */
export function expectSamePicture(name: string, screenshot: Buffer): void {
  const approved = join(APPROVED, `${name}.png`);
  if (process.env['UPDATE_PICTURES']) {
    mkdirSync(APPROVED, { recursive: true });
    writeFileSync(approved, screenshot);
    return;
  }
  if (!existsSync(approved)) throw new Error(`there is no approved picture ${name}.png; set UPDATE_PICTURES=1`);
  const share = differenceOf(PNG.sync.read(readFileSync(approved)), PNG.sync.read(screenshot));
  if (share <= MAX_SHARE) return;
  mkdirSync(SEEN, { recursive: true });
  writeFileSync(join(SEEN, `${name}.png`), screenshot);
  const percent = (share * 100).toFixed(1);
  throw new Error(`${percent} % of ${name}.png differ; compare ${SEEN} with ${APPROVED}, or set UPDATE_PICTURES=1`);
}

/** The share of pixels that differ; pictures of another size differ entirely. */
function differenceOf(one: PNG, other: PNG): number {
  if (one.width !== other.width || one.height !== other.height) return 1;
  const { width, height } = one;
  return pixelmatch(one.data, other.data, undefined, width, height, { threshold: THRESHOLD }) / (width * height);
}
