import { Logger } from '@nestjs/common';
import { PinoLogger } from '../../../src/operations';

describe('PinoLogger', () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };

  beforeEach(() => {
    lines.length = 0;
    Logger.overrideLogger(new PinoLogger('debug', destination));
  });

  afterAll(() => {
    Logger.overrideLogger(false);
  });

  it('writes one JSON object per line, with the level by name and the context', () => {
    new Logger('Room').log('hello');
    expect(lines).toEqual([
      { level: 'info', time: expect.stringMatching(/Z$/) as unknown, context: 'Room', msg: 'hello' },
    ]);
  });

  it('writes the stack of an error separately from its message', () => {
    new Logger('Room').error('failed', 'Error: at line 1');
    new Logger('Room').error('failed without a stack');
    expect(lines).toMatchObject([
      { level: 'error', msg: 'failed', stack: 'Error: at line 1', context: 'Room' },
      { level: 'error', msg: 'failed without a stack', context: 'Room' },
    ]);
    expect(lines[1]).not.toHaveProperty('stack');
  });

  it('writes errors and objects too', () => {
    new Logger('Room').warn(new Error('odd'));
    new Logger('Room').debug({ orders: 5 });
    expect(lines).toMatchObject([
      { level: 'warn', msg: 'odd', err: { type: 'Error', message: 'odd' } },
      { level: 'debug', message: { orders: 5 } },
    ]);
  });

  it('omits what is below its level', () => {
    new Logger('Room').verbose('chatter');
    expect(lines).toEqual([]);
  });
});
