import { writeFileSync } from 'node:fs';
import { PAGE, renderPage } from './render-page';

writeFileSync(PAGE, renderPage());
process.stdout.write('wrote docs/state-diagrams.md\n');
