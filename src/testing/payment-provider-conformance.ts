import { type Check } from './conformance/check';
import { CheckedBench } from './conformance/checked-bench';
import { FAULT_CASES } from './conformance/fault-cases';
import { PAYMENT_CASES } from './conformance/payment-cases';
import { type ConformanceFault, type PaymentProviderBench } from './conformance/payment-provider-bench';
import { REFUND_CASES } from './conformance/refund-cases';

/** One check; `run` rejects with an error that says what is wrong. */
export interface ConformanceCase {
  readonly name: string;
  run(): Promise<void>;
}

/**
 * The contract of PaymentProvider as cases for any test runner:
 * `for (const { name, run } of describePaymentProvider(() => bench, ['failing'])) test(name, run);`
 * @param bench called at the start of each case, so it may be made in a before-all hook.
 * @param faults which faults the bench can inject; the cases of the others are left out.
 */
export function describePaymentProvider(
  bench: () => PaymentProviderBench,
  faults: readonly ConformanceFault[] = [],
): ConformanceCase[] {
  const tables: Readonly<Record<string, Check>>[] = [
    PAYMENT_CASES,
    REFUND_CASES,
    ...faults.map((one) => FAULT_CASES[one]),
  ];
  return tables.flatMap((table) =>
    Object.entries(table).map(([name, check]) => ({ name, run: () => check(new CheckedBench(bench())) })),
  );
}
