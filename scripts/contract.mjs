// npm run contract: compares docs/openapi.json, docs/asyncapi.json, and docs/messages with the schemas in src.
// npm run contract -- --update: writes them.
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { runTypescript } from './setup/typescript.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  return runTypescript('test/contract/main.ts', args, { signal });
});
