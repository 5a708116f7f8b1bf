/** From where on something is a finding. */
export interface DoctorLimits {
  /** Difference between the clocks of host and database, milliseconds. */
  readonly clockMs: number;
  /** Age of a transaction, seconds. */
  readonly transactionS: number;
  readonly deadRows: number;
  /** Dead rows for each live one. */
  readonly deadShare: number;
  /** How long the most overdue timeout has been waiting, seconds. */
  readonly overdueS: number;
  /** Age of the oldest message that should be on the broker, seconds. */
  readonly outboxS: number;
  /** How long a message may take through the delay transport beyond its delay, milliseconds. */
  readonly probeMs: number;
}

/** The limits of the alerts in docs/runbook.md, where it has one. */
export const DOCTOR_LIMITS: DoctorLimits = {
  clockMs: 1_000,
  transactionS: 60,
  // Vacuum begins at 1,000 dead rows and 1 % of the table, so these tables have far fewer while it keeps up.
  deadRows: 20_000,
  deadShare: 0.2,
  overdueS: 30,
  outboxS: 60,
  probeMs: 5_000,
};
