import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Shot } from './film';

/** README.md is loaded with it. */
const MAX_BYTES = 1_500_000;

/** Writes an animated WebP that repeats without end. @throws Error if it is too large for README.md */
export function encodeFilm(shots: readonly Shot[], file: string): { bytes: number; seconds: number } {
  mkdirSync(dirname(file), { recursive: true });
  const frames = shots.flatMap((shot) => ['-d', String(shot.ms), shot.file]);
  execFileSync('img2webp', ['-loop', '0', '-min_size', '-lossless', '-m', '6', ...frames, '-o', file]);
  const { size: bytes } = statSync(file);
  if (bytes > MAX_BYTES) throw new Error(`${file} has ${bytes} bytes, more than ${MAX_BYTES}; make the tour shorter`);
  return { bytes, seconds: Math.round(shots.reduce((sum, { ms }) => sum + ms, 0) / 1_000) };
}
