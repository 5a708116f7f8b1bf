import { type Scenario } from '../scenario';
import { FALSE_NEWS } from './false-news';
import { IN_TIME } from './in-time';
import { LATE_MONEY } from './late-money';
import { ODD_MONEY } from './odd-money';
import { TROUBLED_PROVIDERS } from './troubled-providers';
import { UNPAID } from './unpaid';

/** Every scenario, in the order of the report. */
export const CATALOGUE: readonly Scenario[] = [
  ...IN_TIME,
  ...UNPAID,
  ...TROUBLED_PROVIDERS,
  ...LATE_MONEY,
  ...ODD_MONEY,
  ...FALSE_NEWS,
];
