/** Why a message is parked: a stable code, and a sentence with the values. */
export interface ParkReason {
  readonly code: string;
  readonly reason: string;
  /** The values for programs. They are sent to the sender of the command, if it wants an answer. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** A mistake on our side. The sender is not told the reason, and the message is parked even if the sender is answered. */
  readonly isFault?: boolean;
}
