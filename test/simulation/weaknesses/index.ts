import { CLOSING_WEAKNESSES } from './closing';
import { ENGINE_WEAKNESSES } from './engine';
import { MONEY_WEAKNESSES } from './money';
import { PEOPLE_WEAKNESSES } from './people';
import { type Weakness } from './weakness';

export { type Patch, type Weakness } from './weakness';

/** The simulation must find each. */
export const WEAKNESSES: readonly Weakness[] = [
  ...CLOSING_WEAKNESSES,
  ...MONEY_WEAKNESSES,
  ...PEOPLE_WEAKNESSES,
  ...ENGINE_WEAKNESSES,
];
