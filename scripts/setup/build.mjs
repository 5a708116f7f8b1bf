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

/** @typedef {{ script: string, output: string, inputs: string[] }} Build */

/** @type {Build} */
export const serviceBuild = { script: 'build:service', output: 'dist', inputs: ['src', ...configuration] };
/** @type {Build} The build of the service empties dist, so this one follows it. */
export const pageBuild = {
  script: 'build:page',
  output: 'dist/operator-page',
  inputs: [
    'packages/operator-page/src',
    'packages/operator-page/package.json',
    'packages/operator-page/build.mjs',
    ...configuration,
  ],
};
/** @type {Build} */
const simulatorBuild = {
  script: 'build:simulator',
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
  await showProgress(`npm run ${build.script}`, (note) =>
    withLock(
      build.script.replace(':', '-'),
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
  await run(...npm(['run', '--silent', build.script]), {
    cwd: repository,
    limitMs,
    signal,
    what: `npm run ${build.script}`,
    remedy: 'fix the errors of the compiler above',
  });
  writeFileSync(stampFile(build), stamp);
}
