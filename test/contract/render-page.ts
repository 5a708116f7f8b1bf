import { join } from 'node:path';
import { attemptStatusSection } from './attempt-status-diagram';
import { orderStatusSection } from './order-status-diagram';
import { timeoutStatusSection } from './timeout-status-diagram';

export const PAGE = join(__dirname, '../../docs/state-diagrams.md');

/** All of docs/state-diagrams.md. */
export function renderPage(): string {
  return `# State diagrams

This page is generated from the tables in the code.
\`npm run diagrams\` writes it, and a unit test fails if it is out of date.

${[orderStatusSection(), attemptStatusSection(), timeoutStatusSection()].join('\n')}`;
}
