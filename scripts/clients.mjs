// npm run test:clients: generates clients from the documents of the API, and runs them and the example clients against
// the service.
import { spawnSync } from 'node:child_process';
import { obtainGenerators, obtainPythonPackages } from './clients/obtain-generators.mjs';
import { runSuite } from './jest/run-suite.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { SetupError } from './setup/setup-error.mjs';

const programs = /** @type {const} */ ([
  ['java', '-version', 'install a Java runtime (apt-get install default-jre-headless)'],
  ['python3', '--version', 'install Python 3 (apt-get install python3)'],
  ['curl', '--version', 'install curl (apt-get install curl)'],
]);

for (const [program, argument, remedy] of programs) {
  if (spawnSync(program, [argument]).status !== 0)
    await main(() => Promise.reject(new SetupError('NO_PROGRAM', `${program} is missing`, { remedy })));
}

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const generators = await showProgress('generators of clients', (note) => obtainGenerators({ signal, note }));
  const python = await showProgress('Python packages', (note) => obtainPythonPackages({ signal, note }));
  return runSuite('clients', args, { env: { OT_GENERATORS: generators, OT_PYTHON_PACKAGES: python }, signal });
});
