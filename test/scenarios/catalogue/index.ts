import { type Scenario } from '../scenario';
import { FALSE_NOTIFICATIONS } from './false-notifications';
import { IN_TIME } from './in-time';
import { LATE_MONEY } from './late-money';
import { MANY_PAYMENTS } from './many-payments';
import { ODD_MONEY } from './odd-money';
import { REPORTED_MONEY } from './reported-money';
import { TROUBLED_PROVIDERS } from './troubled-providers';
import { UNPAID } from './unpaid';
import { VAGUE_NOTIFICATIONS } from './vague-notifications';

/** Every scenario, in the order of the report. */
export const CATALOGUE: readonly Scenario[] = [
  ...IN_TIME,
  ...UNPAID,
  ...TROUBLED_PROVIDERS,
  ...LATE_MONEY,
  ...ODD_MONEY,
  ...REPORTED_MONEY,
  ...VAGUE_NOTIFICATIONS,
  ...MANY_PAYMENTS,
  ...FALSE_NOTIFICATIONS,
];
