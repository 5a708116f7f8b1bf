import { ensureDebianPackages } from './debian-packages.mjs';

const place = '/usr/bin/chromium';
/** The pictures are compared with pictures in these fonts. */
const packages = ['chromium', 'fonts-liberation', 'fonts-wqy-microhei'];

/**
 * Chromium of the variable CHROMIUM, or of the distribution, which is installed if it is missing.
 *
 * @param {import('./debian-packages.mjs').StepOptions} options
 * @returns {Promise<string>} its path
 */
export async function ensureChromium(options) {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const otherwise = 'set CHROMIUM to the path of a Chromium';
  await ensureDebianPackages(packages, { ...options, code: 'NO_CHROMIUM', otherwise });
  return place;
}
