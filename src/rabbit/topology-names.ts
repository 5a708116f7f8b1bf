/**
 * Names of everything that the service declares on the broker. The prefix contains a version, because the arguments of
 * an existing queue or exchange cannot be changed (406 PRECONDITION_FAILED).
 */
export class TopologyNames {
  constructor(readonly prefix: string) {}

  /** Topic exchange of outgoing events. The routing key is the event name. */
  get events(): string {
    return `${this.prefix}.events`;
  }

  /** Topic exchange for incoming commands, and the queue behind it. */
  get commands(): string {
    return `${this.prefix}.commands`;
  }

  /** Fanout exchange and queue of messages that could not be processed. */
  get parked(): string {
    return `${this.prefix}.parked`;
  }

  /** Direct exchange to the work queues. The routing key is the timeout kind. */
  get work(): string {
    return `${this.prefix}.work`;
  }

  workQueue(kind: string): string {
    return `${this.prefix}.work.${kind}`;
  }

  /** Exchange that carries no messages. It records which database the prefix belongs to. */
  get owner(): string {
    return `${this.prefix}.owner`;
  }

  /** The plugin's exchange. */
  get delayed(): string {
    return `${this.prefix}.delayed`;
  }

  /** Prefix of the ladder's exchange and queue names. */
  get delay(): string {
    return `${this.prefix}.delay`;
  }
}
