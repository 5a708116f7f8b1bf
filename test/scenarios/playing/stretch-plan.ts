import { type Plan, type PlannedPayment } from '../scenario';

/** Pure: the same story with more time for everybody until the deadline. */
export function stretchPlan(plan: Plan, factor: number): Plan {
  const payments = plan.payments.map((payment) => stretchPayment(payment, factor));
  return { ...plan, windowMs: plan.windowMs * factor, payments };
}

function stretchPayment(payment: PlannedPayment, factor: number): PlannedPayment {
  const { script, faults, expiresAfterMs } = payment;
  return {
    ...payment,
    ...(script?.buyer === 'pays-after' && { script: { ...script, ms: script.ms * factor } }),
    ...(faults && { faults: faults.map((fault) => ({ ...fault, afterMs: (fault.afterMs ?? 0) * factor })) }),
    ...(expiresAfterMs !== undefined && { expiresAfterMs: expiresAfterMs * factor }),
  };
}
