// npm run test:prisma: passes transactions of Prisma to the product. Arguments are Jest's.
import { preparePrisma } from './prisma/prepare-prisma.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';

const limitMs = 30 * 60_000;

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await preparePrisma(signal);
  const jest = ['scripts/test.mjs', '--config', 'test/prisma/jest.config.js', ...args];
  return runInForeground(process.execPath, jest, { cwd: repository, owns: 'process', limitMs, signal });
});
