import { type AttemptFinding } from '../../src/orders/model/findings';
import { type Facts, readConfirmation, readQuery } from '../../src/orders/lookup/payment-lookups';
import { canTakeMoney, isBooked, type PaymentAttempt } from '../../src/orders/model/order';
import { moneyOf } from './book-payment';
import { type World } from './world';
import { type Errand } from './workers';

type Ask = (attempt: PaymentAttempt, found: (finding: AttemptFinding['finding'] | undefined) => void) => void;

/** src/orders/lookup/payment-lookups.ts over callbacks; what to ask and what it means comes from src. */
export function interrogateAll(
  world: World,
  attempts: readonly PaymentAttempt[],
  errand: Errand,
  answered: (findings: AttemptFinding[]) => void,
): void {
  const { now } = world.agenda;
  askInLanes(world, attempts, errand, answered, (attempt, found) =>
    interrogate(world, attempt, {}, now, errand, found),
  );
}

/** The same without closing anything. */
export function queryAll(
  world: World,
  attempts: readonly PaymentAttempt[],
  errand: Errand,
  answered: (findings: AttemptFinding[]) => void,
): void {
  const { now } = world.agenda;
  askInLanes(world, attempts, errand, answered, (attempt, found) =>
    world
      .providerOf(attempt)
      .query(attempt.reference, (answer) =>
        errand.after(0, () => found(isBooked(attempt) ? readConfirmation(answer) : readQuery(attempt, answer, now))),
      ),
  );
}

function askInLanes(
  world: World,
  attempts: readonly PaymentAttempt[],
  errand: Errand,
  answered: (findings: AttemptFinding[]) => void,
  ask: Ask,
): void {
  const waiting = inOrder(world, attempts);
  const findings: AttemptFinding[] = [];
  let open = 0;
  const next = (): void => {
    const attempt = waiting.shift();
    if (!attempt) return open === 0 ? answered(findings) : undefined;
    open++;
    ask(attempt, (finding) => {
      open--;
      if (finding) findings.push(believed(world, attempt, finding));
      next();
    });
  };
  if (waiting.length === 0) return errand.after(0, () => answered([]));
  const lanes = Math.min(world.wiring.lanes, waiting.length);
  for (let lane = 0; lane < lanes; lane++) next();
}

/** Those that could bring money first; a variant that asks all at once asks those that were closed like the others. */
function inOrder({ wiring }: World, attempts: readonly PaymentAttempt[]): PaymentAttempt[] {
  const urgencyOf = (attempt: PaymentAttempt): number => (canTakeMoney(attempt) ? 0 : isBooked(attempt) ? 1 : 2);
  const sign = wiring.lanes === Infinity ? -1 : 1;
  return [...attempts].sort((a, b) => sign * (urgencyOf(a) - urgencyOf(b)));
}

/** A variant that does not know payments by all their names does not know them by an answer, either. */
function believed({ wiring }: World, attempt: PaymentAttempt, finding: AttemptFinding['finding']): AttemptFinding {
  const { provider, reference, merchantAccount } = attempt;
  const key = { provider, reference, merchantAccount };
  if (finding.type !== 'PAID') return { ...key, finding };
  const { transactionId } = wiring.believes(moneyOf(attempt, finding));
  return { ...key, finding: { ...finding, transactionId: transactionId ?? `only-${reference}` } };
}

function interrogate(
  world: World,
  attempt: PaymentAttempt,
  facts: Facts,
  now: Date,
  errand: Errand,
  concluded: (finding: AttemptFinding['finding']) => void,
): void {
  const step = world.wiring.nextStep(attempt, facts, now);
  if (step.type === 'conclude') return concluded(step.finding);
  const provider = world.providerOf(attempt);
  const goOn = (more: Facts): void =>
    errand.after(0, () => interrogate(world, attempt, { ...facts, ...more }, now, errand, concluded));
  switch (step.type) {
    case 'query':
      return provider.query(attempt.reference, (query) => goOn({ query }));
    case 'close':
      return provider.close(attempt.reference, (close) => goOn({ close }));
    case 'confirm':
      return provider.query(attempt.reference, (confirmation) => goOn({ confirmation }));
  }
}
