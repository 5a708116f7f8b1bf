/** How single callers share transactions. */
export const GROUP_COMMIT = {
  /** A transaction of so many orders takes some 20 ms. */
  size: 100,
  /** Two keep two cores busy; each more makes the groups smaller. */
  lanes: 2,
  /** Ten times as long as a group takes. If a lock is held longer, for example by a host's transaction, items wait for it alone. */
  lockLimitMs: 200,
} as const;

interface GroupDependencies<T, R> {
  /** Most items in one transaction. */
  readonly size: number;
  /** Transactions at a time. */
  readonly lanes: number;
  /** Names of what an item writes; items that share one never share a transaction. */
  namesOf(item: T): readonly string[];
  /** One transaction for all; answers in the order of the items. Gives up soon where it has to wait for a lock. */
  runTogether(items: readonly T[]): Promise<readonly R[]>;
  /** One transaction for an item whose group failed. */
  runAlone(item: T): Promise<R>;
  /** True where the item would fail alone for the same reason. */
  isHopeless(error: unknown): boolean;
}

interface Waiting<T, R> {
  readonly item: T;
  readonly names: readonly string[];
  readonly resolve: (answer: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: items that arrive while all lanes are busy share the next transaction. With a free lane, an item
 * starts at once. An item that makes its group fail does not harm the others,
 * as each is tried again alone; and as that happens beside the lanes, one that waits for a lock holds up nobody.
 */
export class GroupCommit<T, R> {
  private waiting: Waiting<T, R>[] = [];
  private running = 0;
  /** Names of the items in running groups. An item that shares a name waits, in order of arrival. */
  private readonly inLanes = new Set<string>();

  constructor(private readonly deps: GroupDependencies<T, R>) {}

  /** Resolves with the item's own answer after its transaction. */
  run(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, names: this.deps.namesOf(item), resolve, reject });
      this.poke();
    });
  }

  private poke(): void {
    while (this.waiting.length > 0 && this.running < this.deps.lanes) {
      const group = this.takeGroup();
      if (group.length === 0) return;
      void this.runNext(group);
    }
  }

  private async runNext(group: readonly Waiting<T, R>[]): Promise<void> {
    const names = group.flatMap((member) => member.names);
    for (const name of names) this.inLanes.add(name);
    this.running++;
    try {
      const answers = await this.deps.runTogether(group.map(({ item }) => item));
      answers.forEach((answer, index) => group[index]?.resolve(answer));
    } catch (error) {
      for (const member of group) this.recover(member, error);
    } finally {
      for (const name of names) this.inLanes.delete(name);
      this.running--;
      this.poke();
    }
  }

  private recover({ item, resolve, reject }: Waiting<T, R>, error: unknown): void {
    if (this.deps.isHopeless(error)) reject(error);
    else this.deps.runAlone(item).then(resolve, reject);
  }

  /** First come, first served. An item that shares a name with an earlier one waits for a later group. */
  private takeGroup(): Waiting<T, R>[] {
    const group: Waiting<T, R>[] = [];
    const passed: Waiting<T, R>[] = [];
    const taken = new Set(this.inLanes);
    for (const member of this.waiting) {
      if (group.length === this.deps.size) break;
      (member.names.some((name) => taken.has(name)) ? passed : group).push(member);
      for (const name of member.names) taken.add(name);
    }
    this.waiting = [...passed, ...this.waiting.slice(group.length + passed.length)];
    return group;
  }
}
