import { type Delivery } from './delivery';
import { type ParkedQueue } from './parked-queue';
import { type ParkReason } from './park-reason';
import { type ReplySender } from './reply-sender';

/** How a command ended: with what its handler returned, or never to be tried again. */
export type CommandEnd =
  { readonly type: 'done'; readonly answer: unknown } | { readonly type: 'park'; readonly park: ParkReason };

interface EndDependencies {
  readonly replies: Pick<ReplySender, 'send'>;
  readonly parked: Pick<ParkedQueue, 'park'>;
}

/**
 * Answers, and then acknowledges or parks. The answer comes first: if this process dies in between, the command is
 * delivered again and answered again, and no sender waits in vain. A refusal that its sender knows of is not parked.
 */
export async function endCommand(
  { replies, parked }: EndDependencies,
  delivery: Delivery,
  end: CommandEnd,
): Promise<void> {
  const isAnswered = await replies.send(delivery, end.type === 'done' ? end.answer : { error: errorOf(end.park) });
  const isSettled = end.type === 'done' || (isAnswered && !end.park.isFault);
  if (isSettled) delivery.acknowledge('ack');
  else await parked.park(delivery, end.park);
}

function errorOf({ code, reason, details, isFault = false }: ParkReason): Record<string, unknown> {
  const message = isFault ? 'an unexpected error occurred; the command is parked, and the log has the error' : reason;
  return { ...details, code, message };
}
