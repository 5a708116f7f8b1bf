import {
  TIMEOUT_STATUSES,
  TIMEOUT_STEPS,
  type TimeoutAction,
  type TimeoutPresence,
} from '../../src/timeouts/model/timeout';
import { code } from './markdown';
import { type Arrow, OUTSIDE, stateDiagram } from './state-diagram';

/** The compiler asks for a line here when the code gets another action. */
const MEANINGS: Readonly<Record<TimeoutAction, string>> = {
  schedule: 'you schedule the kind and key, for the first time or again',
  cancel: 'you cancel it',
  done: 'the handler is done; the row is deleted in its transaction',
  'look-up': 'the handler needs a look-up, which takes a lease',
  retry: 'the handler asks to be called again, or fails',
  reschedule: 'the handler says that the deadline has moved',
  park: 'the handler gives up, or the last counted run has failed',
  replay: 'an operator makes it due now',
  discard: 'an operator deletes it without its effect',
};

const ACTIONS = Object.keys(TIMEOUT_STEPS) as TimeoutAction[];
const fromOf = (action: TimeoutAction): readonly TimeoutPresence[] => TIMEOUT_STEPS[action].from;
const boxOf = (presence: TimeoutPresence): string => (presence === 'absent' ? OUTSIDE : presence);

/** One arrow from each status to each other, with all actions that lead there. */
function arrows(): Arrow[] {
  const all: readonly TimeoutPresence[] = ['absent', ...TIMEOUT_STATUSES];
  return all.flatMap((from) =>
    all.flatMap((to) => {
      const actions = ACTIONS.filter((action) => fromOf(action).includes(from) && TIMEOUT_STEPS[action].to === to);
      return actions.length === 0 ? [] : [{ from: boxOf(from), to: boxOf(to), label: actions.join(', ') }];
    }),
  );
}

/** The section about timeouts, from the table that the statements are compared with. */
export function timeoutStatusSection(): string {
  const rows = ACTIONS.map((action) => `| ${code(action)} | ${MEANINGS[action]} |`);
  return `### Timeout status

From \`TIMEOUT_STEPS\` in \`src/timeouts/model/timeout.ts\`.
In any other status, the action changes nothing. The start and end points mean that there is no row.

${stateDiagram(arrows())}

| action | when |
|---|---|
${rows.join('\n')}

A \`leased\` timeout is due again when its lease ends, for example after its process died.
`;
}
