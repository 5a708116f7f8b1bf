// npm run build [-- service|page|simulator]: what has changed since it was built, from a bare clone.
import { ensureBuilds, ensureDependencies, pageBuild, serviceBuild, simulatorBuild } from './setup/build.mjs';
import { main } from './setup/main.mjs';
import { SetupError } from './setup/errors.mjs';

/** @type {Record<string, import('./setup/build.mjs').Build>} */
const all = { service: serviceBuild, page: pageBuild, simulator: simulatorBuild };

await main(async ({ args, signal }) => {
  const unknown = args.find((name) => !(name in all));
  if (unknown) throw new SetupError('USAGE', `there is no build ${unknown}`, { remedy: Object.keys(all).join(', ') });
  await ensureDependencies({ signal });
  const builds = Object.keys(all).filter((name) => args.length === 0 || args.includes(name));
  await ensureBuilds({ signal, builds: builds.flatMap((name) => all[name] ?? []) });
});
