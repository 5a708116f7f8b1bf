import { type Logger } from '@nestjs/common';
import { type SettledBatch } from './settled-batch';

/** Nothing more happens to a parked timeout by itself: a person has to see it. */
export function logParked(logger: Logger, { settled }: SettledBatch): void {
  for (const { due, outcome } of settled) {
    if (outcome.type === 'park') logger.error(`parked "${due.key}": ${outcome.reason}`);
  }
}
