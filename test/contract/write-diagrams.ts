import { readFileSync, writeFileSync } from 'node:fs';
import { OPTIONS_PAGE, renderOptions } from './module-options';
import { PAGE, renderPage } from './render-page';

writeFileSync(PAGE, renderPage(readFileSync(PAGE, 'utf8')));
writeFileSync(OPTIONS_PAGE, renderOptions());
process.stdout.write('wrote the status diagrams of docs/architecture.md, and docs/module-options.md\n');
