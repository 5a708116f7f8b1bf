import { type Swarm } from './swarm';

const SECOND = 1_000;

/** What a bank does, and how often. */
export interface BankTraits {
  /** Share of calls that fail before anything is done, and after everything is. */
  readonly failing: number;
  readonly losing: number;
  readonly pending: number;
  readonly rejecting: number;
  /** Of refunds that succeed, how many come back later. */
  readonly returning: number;
  /** Of payments, how many the buyer's own bank takes back. */
  readonly disputing: number;
  /** Of payments that a query finds open, how many are paid just after it. */
  readonly racing: number;
  /** Of payments just after a close, how many still come. */
  readonly tardy: number;
  /** How long a query may not know of a payment, milliseconds. */
  readonly staleMs: number;
  readonly accounts: readonly string[];
  /** Of intents, how many take more than one payment. */
  readonly several: number;
  /** Of the payments for registered intents, how many are never told, and of how many is only told that something changed. */
  readonly mute: number;
  readonly vague: number;
  /** What it is asked to offer expires. */
  readonly expiring: boolean;
  /** It shows codes, and does not know of them before a buyer scans them. Then they have to expire. */
  readonly scanned: boolean;
}

export function drawTraits(swarm: Swarm): BankTraits {
  const share = (): number => swarm.draw(0, [1, 0.3], [1, 0.8]);
  const isTroubled = swarm.has();
  return {
    failing: isTroubled ? swarm.draw(0.2, [1, 0.6]) : 0,
    losing: isTroubled ? swarm.draw(0.1, [1, 0.4]) : 0,
    pending: share(),
    rejecting: swarm.draw(0, [1, 0.1], [1, 0.5]),
    returning: share(),
    disputing: share(),
    tardy: share(),
    racing: share(),
    several: share(),
    staleMs: swarm.draw(0, [1, 3 * SECOND]),
    mute: share(),
    vague: share(),
    expiring: swarm.has(),
    scanned: swarm.has(),
    accounts: swarm.draw<string[]>([], [1, ['main', 'other']]),
  };
}
