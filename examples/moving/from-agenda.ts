interface PendingOrder {
  readonly orderId: string;
  readonly dueAt: Date;
}
interface AgendaJob {
  readonly nextRunAt: Date;
  readonly data: { readonly orderId: string };
}
interface JobCollection {
  find(filter: object): AsyncIterable<AgendaJob>;
}

/** Reads the jobs of a name that wait, from the collection of Agenda (`agendaJobs` by default). */
export async function* fromAgenda(jobs: JobCollection, name: string): AsyncGenerator<PendingOrder[]> {
  let page: PendingOrder[] = [];
  for await (const { nextRunAt, data } of jobs.find({ name, nextRunAt: { $ne: null }, disabled: { $ne: true } })) {
    page.push({ orderId: data.orderId, dueAt: nextRunAt });
    if (page.length < 1_000) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
