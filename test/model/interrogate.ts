import { type AttemptFinding } from '../../src/orders/attempt-finding';
import { type Facts } from '../../src/orders/next-step';
import { type PaymentAttempt } from '../../src/orders/payment-attempt';
import { type Errand } from './workers';
import { type World } from './world';

/** The same loop as in src/orders/ask-providers.ts, over callbacks; what to ask and what it means comes from src. */
export function interrogateAll(
  world: World,
  attempts: readonly PaymentAttempt[],
  errand: Errand,
  answered: (findings: AttemptFinding[]) => void,
): void {
  const { now } = world.agenda;
  const findings: AttemptFinding[] = [];
  if (attempts.length === 0) errand.after(0, () => answered([]));
  for (const attempt of attempts) {
    interrogate(world, attempt, {}, now, errand, (finding) => {
      findings.push({ provider: attempt.provider, reference: attempt.reference, finding });
      if (findings.length === attempts.length) answered(findings);
    });
  }
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
  const provider = world.providers.get(attempt.provider);
  if (!provider) return concluded({ type: 'NO_PROVIDER', reason: `no provider ${attempt.provider}` });
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
