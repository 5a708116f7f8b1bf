/**
 * Names of everything we declare on the broker. The prefix carries a version, because the arguments of an
 * existing queue or exchange cannot be changed in place (406 PRECONDITION_FAILED).
 */
export class TopologyNames {
  constructor(readonly prefix: string) {}

  /** Topic exchange of outgoing events; the routing key is the event name. */
  get events(): string {
    return `${this.prefix}.events`;
  }

  /** Topic exchange for incoming commands, and the queue behind it. */
  get commands(): string {
    return `${this.prefix}.commands`;
  }

  /** Fanout exchange and queue of what could not be processed. */
  get parked(): string {
    return `${this.prefix}.parked`;
  }

  /** Direct exchange to the work queues; the routing key is the timeout kind, or a partition of it. */
  get work(): string {
    return `${this.prefix}.work`;
  }

  workQueue(routingKey: string): string {
    return `${this.prefix}.work.${routingKey}`;
  }

  /** Exchange that carries no messages and says which database the prefix belongs to. */
  get owner(): string {
    return `${this.prefix}.owner`;
  }

  /** The plugin's exchange. */
  get delayed(): string {
    return `${this.prefix}.delayed`;
  }

  /** Name stem of the ladder's exchanges and queues. */
  get delay(): string {
    return `${this.prefix}.delay`;
  }
}
