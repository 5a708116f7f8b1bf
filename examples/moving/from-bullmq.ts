interface PendingOrder {
  readonly orderId: string;
  readonly dueAt: Date;
}
interface Job {
  readonly data: { readonly orderId: string };
  readonly timestamp: number;
  readonly delay: number;
}
type JobType = 'delayed' | 'wait' | 'prioritized' | 'paused';
interface JobQueue {
  getJobs(type: JobType, start: number, end: number, ascending: boolean): Promise<Job[]>;
}

/** Reads jobs from the last to the first, because those that become due meanwhile leave at the other end. */
export async function* fromBullMq(queue: JobQueue): AsyncGenerator<PendingOrder[]> {
  for (const type of ['delayed', 'wait', 'prioritized', 'paused'] as const) {
    for (let start = 0; ; start += 1_000) {
      const jobs = await queue.getJobs(type, start, start + 999, false);
      if (jobs.length === 0) break;
      yield jobs.map(({ data, timestamp, delay }) => ({ orderId: data.orderId, dueAt: new Date(timestamp + delay) }));
    }
  }
}
