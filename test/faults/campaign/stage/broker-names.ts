/** Kinds of timeouts whose wake-ups come in a campaign. */
export const WAKE_UP_KINDS = ['order.payment', 'order.late-watch'] as const;

/** Without the prefix. */
export const workQueue = (kind: string): string => `work.${kind}`;
