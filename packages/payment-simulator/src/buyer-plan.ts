import { type BuyerScript } from './simulator-input';

/** When a scripted buyer acts by himself (epoch milliseconds). */
export interface BuyerPlan {
  readonly scansAt?: number;
  readonly paysAt?: number;
}

/** @param from what the script's waits count from, epoch milliseconds. */
export function planBuyer(script: BuyerScript, from: number): BuyerPlan {
  switch (script.buyer) {
    case 'pays-at':
      return { paysAt: script.at };
    case 'pays-after':
      return { paysAt: from + script.ms };
    case 'pays-before-deadline':
      return { paysAt: script.deadline - script.byMs };
    case 'scans-after':
      return { scansAt: from + script.ms };
    case 'scans-then-pays':
      return { scansAt: from + script.scanMs, paysAt: from + script.scanMs + script.payMs };
    case 'never':
    case 'pays-after-query':
    case 'pays-after-close':
      return {};
  }
}
