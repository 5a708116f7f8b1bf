import { readFileSync, writeFileSync } from 'node:fs';
import { PAGE, renderPage } from './render-page';

writeFileSync(PAGE, renderPage(readFileSync(PAGE, 'utf8')));
process.stdout.write('wrote the status diagrams of docs/architecture.md\n');
