// npm run contract: compares docs/openapi.json, docs/asyncapi.json, docs/messages, and rabbit/definitions.template.json
// with what src makes of them.
// npm run contract -- --update: writes them.
import { ensureDependencies, runTypescript } from './setup/build.mjs';
import { main } from './setup/main.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  return runTypescript('packages/contract/src/main.ts', args, { signal });
});
