interface Item {
  readonly at: number;
  run(at: number): void;
}

/** What is going to happen by itself, each thing at its own instant (epoch milliseconds). */
export class Agenda {
  private readonly items = new Map<string, Item>();

  /** @param changed called when something was planned. */
  constructor(private readonly changed: () => void) {}

  /** When the next thing is due. */
  get nextAt(): number | undefined {
    return this.next()?.[1].at;
  }

  /** Replaces what was planned under the same name. */
  plan(name: string, at: number, run: (at: number) => void): void {
    this.items.set(name, { at, run });
    this.changed();
  }

  has(name: string): boolean {
    return this.items.has(name);
  }

  cancel(...names: string[]): void {
    for (const name of names) this.items.delete(name);
  }

  /** Lets happen what is due by `now`, the earliest first. */
  runUntil(now: number): void {
    for (let next = this.next(); next && next[1].at <= now; next = this.next()) {
      const [name, item] = next;
      this.items.delete(name);
      item.run(item.at);
    }
  }

  private next(): [string, Item] | undefined {
    return [...this.items].sort(([, one], [, other]) => one.at - other.at)[0];
  }
}
