import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentStamp } from './content-stamp.mjs';
import { withLock } from './lock.mjs';
import { npm } from './npm.mjs';
import { repository } from './paths.mjs';
import { noteWhileWaiting, showProgress } from './progress.mjs';
import { run } from './run.mjs';

const limitMs = 5 * 60_000;
const configuration = ['package.json', 'package-lock.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];

/** @typedef {{ name: string, command: [string, string[]], output: string, inputs: string[] }} Build */

const node = (/** @type {string[]} */ ...args) => /** @type {[string, string[]]} */ ([process.execPath, args]);

/** @type {Build} */
export const serviceBuild = {
  name: 'service',
  command: node(join('node_modules', '@nestjs', 'cli', 'bin', 'nest.js'), 'build'),
  output: 'dist',
  inputs: ['src', ...configuration],
};
/** @type {Build} The build of the service empties dist, so this one follows it. */
export const pageBuild = {
  name: 'page',
  command: node(join('packages', 'operator-page', 'build.mjs')),
  output: 'dist/operator-page',
  inputs: [
    'packages/operator-page/src',
    'packages/operator-page/package.json',
    'packages/operator-page/build.mjs',
    ...configuration,
  ],
};
/** @type {Build} */
export const simulatorBuild = {
  name: 'simulator',
  command: npm(['run', '--silent', 'build', '--workspace', 'packages/payment-simulator']),
  output: 'packages/payment-simulator/dist',
  // Not the whole folder, as the output is in it.
  inputs: [
    'packages/payment-simulator/src',
    'packages/payment-simulator/package.json',
    'packages/payment-simulator/tsconfig.json',
    ...configuration,
  ],
};
// Inside the output, so that deleting the output deletes the claim that it is up to date.
const stampFile = (/** @type {Build} */ { output }) => join(repository, output, '.content-stamp');

/** @param {Build} build @param {string} stamp */
function isUpToDate(build, stamp) {
  return existsSync(stampFile(build)) && readFileSync(stampFile(build), 'utf8') === stamp;
}

/**
 * Builds what has changed since it was built last.
 *
 * @param {Build} build
 * @param {{ signal?: AbortSignal | undefined }} [options]
 */
async function ensureBuild(build, { signal } = {}) {
  if (isUpToDate(build, contentStamp(repository, build.inputs))) return;
  await showProgress(`npm run build -- ${build.name}`, (note) =>
    withLock(
      `build-${build.name}`,
      { limitMs, signal, whileWaiting: noteWhileWaiting(note, 'another run builds it') },
      () => make(build, signal),
    ),
  );
}

/** @param {{ signal?: AbortSignal | undefined, builds?: Build[] }} [options] */
export async function ensureBuilds({ signal, builds = [serviceBuild, pageBuild, simulatorBuild] } = {}) {
  for (const build of builds) await ensureBuild(build, { signal });
}

/** @param {Build} build @param {AbortSignal | undefined} signal */
async function make(build, signal) {
  // Taken before the build: what changes meanwhile is built again next time.
  const stamp = contentStamp(repository, build.inputs);
  if (isUpToDate(build, stamp)) return;
  await run(...build.command, {
    cwd: repository,
    limitMs,
    signal,
    what: `npm run build -- ${build.name}`,
    remedy: 'fix the errors of the compiler above',
  });
  writeFileSync(stampFile(build), stamp);
}
