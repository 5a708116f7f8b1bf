// npm pack and npm publish: builds what goes into the package, from a bare clone.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDependencies } from './setup/build.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { run } from './setup/processes.mjs';

const limitMs = 5 * 60_000;
const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc');

// `npm publish --dry-run` is about the package, and not about what builds it.
delete process.env.npm_config_dry_run;

await main(async ({ signal }) => {
  await ensureDependencies({ signal });
  rmSync(join(repository, 'dist'), { recursive: true, force: true });
  // Source maps would name files that are not in the package.
  await run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--sourceMap', 'false'], {
    ...{ cwd: repository, limitMs, signal, what: 'tsc' },
  });
  await run(process.execPath, [join('packages', 'operator-page', 'build.mjs')], {
    ...{ cwd: repository, limitMs, signal, what: 'the build of the operator page' },
  });
});
