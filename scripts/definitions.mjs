// npm run definitions: writes what the broker's image imports, from the names in src/rabbit. A test compares the two.
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
// A computed path, so that the type check does not need dist.
/** @type {unknown} */
const built = require(fileURLToPath(new URL('../dist/rabbit/broker-definitions.js', import.meta.url)));
const { brokerDefinitions } = /** @type {typeof import('../src/rabbit/broker-definitions.js')} */ (built);
const file = fileURLToPath(new URL('../rabbit/definitions.template.json', import.meta.url));
writeFileSync(file, `${JSON.stringify(brokerDefinitions(), null, 2)}\n`);
process.stdout.write('wrote rabbit/definitions.template.json\n');
