import { join } from 'node:path';
import { attemptStatusSection } from './attempt-status-diagram';
import { orderStatusSection } from './order-status-diagram';
import { timeoutStatusSection } from './timeout-status-diagram';

export const PAGE = join(__dirname, '../../docs/architecture.md');

const START = '<!-- Written by npm run diagrams: start -->\n';
const END = '<!-- Written by npm run diagrams: end -->\n';

/** The page with its status diagrams as the code has them. The rest of it stays. */
export function renderPage(page: string): string {
  const [before, ...rest] = page.split(START);
  const [, after, ...more] = rest.join(START).split(END);
  if (before === undefined || rest.length !== 1 || after === undefined || more.length > 0) {
    throw new Error(`${PAGE} must have each of these lines once: ${START}${END}`);
  }
  const sections = [orderStatusSection(), attemptStatusSection(), timeoutStatusSection()].join('\n');
  return `${before}${START}\n${sections}\n${END}${after}`;
}
