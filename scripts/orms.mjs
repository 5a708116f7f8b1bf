// npm run test:orms: passes transactions of Prisma, Drizzle, Kysely, Knex, and MikroORM to the product. Arguments are Jest's.
import { prepareLibraries } from './orms/prepare-libraries.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';

const limitMs = 30 * 60_000;

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await prepareLibraries(signal);
  const jest = ['scripts/test.mjs', '--config', 'test/orms/jest.config.js', ...args];
  return runInForeground(process.execPath, jest, { cwd: repository, owns: 'process', limitMs, signal });
});
