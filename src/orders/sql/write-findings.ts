import { assertNever } from '../../errors';
import { type EntityManager } from 'typeorm';
import { storableJson, storableText } from '../../events';
import { type AttemptFinding, type Finding } from '../attempt-finding';
import { type AttemptStatus } from '../payment-attempt';

interface Written {
  readonly status: AttemptStatus;
  readonly evidence: unknown;
}

/**
 * Writes findings into the attempts that are not final; one statement, however many. Money that was found is written
 * over CLOSED too: the provider had taken it before, or in spite of the closing.
 */
export class WriteFindings {
  private readonly sql: string;

  constructor(schema: string) {
    // An attempt that never left our side keeps that status, because only then is "not found" an answer at once.
    this.sql = `
      UPDATE ${schema}.payment_attempt a
         SET status = f.status, evidence = f.evidence::jsonb, paid_amount = f.paid_amount, paid_currency = f.paid_currency,
             paid_at = f.paid_at, transaction_id = f.transaction_id, updated_at = now()
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::timestamptz[], $8::text[],
                    $9::boolean[])
          AS f(provider, reference, status, evidence, paid_amount, paid_currency, paid_at, transaction_id, known)
       WHERE a.provider = f.provider AND a.reference = f.reference AND a.status NOT IN ('PAID', 'REFUNDING', 'REFUNDED')
         AND a.status <> f.status AND (a.status <> 'CLOSED' OR f.status = 'PAID') AND NOT (a.status = 'CREATED' AND f.status = 'UNKNOWN' AND NOT f.known)`;
  }

  async execute(tx: EntityManager, findings: readonly AttemptFinding[]): Promise<void> {
    const rows = findings.flatMap(({ provider, reference, finding }) => {
      const written = writtenOf(finding);
      const paid = finding.type === 'PAID' ? finding : undefined;
      const isKnown = finding.type === 'UNKNOWN' && finding.isKnownThere === true;
      return written ? [{ provider, reference, ...written, paid, isKnown }] : [];
    });
    if (rows.length === 0) return;
    await tx.query(this.sql, [
      rows.map((row) => row.provider),
      rows.map((row) => row.reference),
      rows.map((row) => row.status),
      rows.map((row) => storableJson(row.evidence)),
      rows.map((row) => row.paid?.amount.toString() ?? null),
      rows.map((row) => row.paid?.currency ?? null),
      rows.map((row) => row.paid?.paidAt.toISOString() ?? null),
      rows.map((row) => (row.paid ? storableText(row.paid.transactionId) : null)),
      rows.map((row) => row.isKnown),
    ]);
  }
}

function writtenOf(finding: Finding): Written | undefined {
  switch (finding.type) {
    case 'PAID':
    case 'CLOSED':
      return { status: finding.type, evidence: finding.evidence };
    case 'UNKNOWN':
      return { status: 'UNKNOWN', evidence: { reason: finding.reason } };
    case 'IN_PROGRESS':
      return { status: 'OPEN', evidence: { reason: finding.reason } };
    case 'NOT_FOUND_YET':
    case 'NO_PROVIDER':
      return undefined;
    default:
      return assertNever(finding);
  }
}
