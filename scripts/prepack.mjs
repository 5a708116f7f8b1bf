// npm pack and npm publish: builds what goes into the package, from a bare clone.
import { join } from 'node:path';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { run } from './setup/run.mjs';

const limitMs = 5 * 60_000;
const nest = join(repository, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');

// `npm publish --dry-run` is about the package, and not about what builds it.
delete process.env.npm_config_dry_run;

await main(async ({ signal }) => {
  await ensureDependencies({ signal });
  await run(process.execPath, [nest, 'build', '--path', 'tsconfig.package.json'], {
    ...{ cwd: repository, limitMs, signal, what: 'nest build' },
  });
  await run(process.execPath, [join('packages', 'operator-page', 'build.mjs')], {
    ...{ cwd: repository, limitMs, signal, what: 'the build of the operator page' },
  });
});
