import { type Scenario } from '../scenario';
import { FALSE_NEWS } from './false-news';
import { IN_TIME } from './in-time';
import { LATE_MONEY } from './late-money';
import { MANY_PAYMENTS } from './many-payments';
import { ODD_MONEY } from './odd-money';
import { REPORTED_MONEY } from './reported-money';
import { TROUBLED_PROVIDERS } from './troubled-providers';
import { UNPAID } from './unpaid';
import { VAGUE_NEWS } from './vague-news';

/** Every scenario, in the order of the report. */
export const CATALOGUE: readonly Scenario[] = [
  ...IN_TIME,
  ...UNPAID,
  ...TROUBLED_PROVIDERS,
  ...LATE_MONEY,
  ...ODD_MONEY,
  ...REPORTED_MONEY,
  ...VAGUE_NEWS,
  ...MANY_PAYMENTS,
  ...FALSE_NEWS,
];
