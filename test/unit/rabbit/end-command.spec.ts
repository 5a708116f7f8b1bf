import { endCommand, type CommandEnd } from '../../../src/rabbit/rabbit-server';
import { deliveryOn } from './deliveries';

/** Ends a command whose answer arrives or not, and notes what happens in which order. */
async function stepsOf(end: CommandEnd, isAnswered: boolean): Promise<unknown[]> {
  const steps: unknown[] = [];
  const record = (name: string) => () => steps.push(name);
  const delivery = deliveryOn({ ack: record('ack'), nack: record('nack') } as never);
  const replies = {
    send: async (_: unknown, answer: unknown) => {
      steps.push(answer);
      return isAnswered;
    },
  };
  const parked = { park: async () => void steps.push('park') };
  await endCommand({ replies, parked }, delivery, end);
  return steps;
}

const refused = { code: 'OUT_OF_STOCK', reason: 'not enough', details: { shortages: [], code: 'x' } };

describe('a command that has ended', () => {
  it('is answered before it is acknowledged, so that no crash leaves a sender waiting', async () => {
    expect(await stepsOf({ type: 'done', answer: 1 }, true)).toEqual([1, 'ack']);
  });

  it('is acknowledged even if nobody takes the answer', async () => {
    expect(await stepsOf({ type: 'done', answer: 1 }, false)).toEqual([1, 'ack']);
  });

  it('is parked if it was refused and its sender does not know', async () => {
    const [, ...rest] = await stepsOf({ type: 'park', park: refused }, false);
    expect(rest).toEqual(['park']);
  });

  it('is not parked if its sender knows of the refusal', async () => {
    const error = { code: 'OUT_OF_STOCK', message: 'not enough', shortages: [] };
    expect(await stepsOf({ type: 'park', park: refused }, true)).toEqual([{ error }, 'ack']);
  });

  it('is parked after a fault, and the sender is not told what our log says', async () => {
    const fault = { code: 'HANDLER_FAILED', reason: 'secret', isFault: true };
    const [answer, ...rest] = await stepsOf({ type: 'park', park: fault }, true);
    expect(rest).toEqual(['park']);
    expect(JSON.stringify(answer)).toContain('HANDLER_FAILED');
    expect(JSON.stringify(answer)).not.toContain('secret');
  });
});
