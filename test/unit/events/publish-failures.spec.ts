import { type Logger } from '@nestjs/common';
import { PublishFailures } from '../../../src/outbox/sent-rows';
import { ManualClock } from '../../support/manual-clock';

describe('messages that were not confirmed', () => {
  it('are told by cause, at once and then once a minute with their number', () => {
    const clock = new ManualClock();
    const lines: string[] = [];
    const failures = new PublishFailures({ warn: (line: string) => lines.push(line) } as unknown as Logger, clock);
    failures.add('were refused', 2);
    failures.add('had no queue', 0);
    failures.add('were refused', 3);
    failures.add('had no queue', 1);
    clock.advance(59_999);
    failures.add('were refused', 4);
    expect(lines).toEqual(['2 messages were refused', '1 messages had no queue']);
    clock.advance(1);
    failures.add('were refused', 5);
    expect(lines.slice(2)).toEqual(['12 messages were refused']);
  });
});
