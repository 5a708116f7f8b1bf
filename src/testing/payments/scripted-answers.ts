import { type CloseOutcome, type QueryOutcome, type RefundOutcome } from '../../payments';

/** The answer to one call. An `Error` is thrown, and `'silence'` never comes. */
export type ScriptedAnswer<T> = T | Error | 'silence';

/** The next answers to calls about one payment, in order. After the last one, the provider answers as its books say. */
export interface PaymentScript {
  readonly query?: readonly ScriptedAnswer<QueryOutcome>[];
  readonly close?: readonly ScriptedAnswer<CloseOutcome>[];
  readonly refund?: readonly ScriptedAnswer<RefundOutcome>[];
}

/** The scripted answers to one kind of call that are left. */
class Answers<T> {
  private readonly left: ScriptedAnswer<T>[] = [];

  add(answers: readonly ScriptedAnswer<T>[]): void {
    for (const answer of answers) this.left.push(answer);
  }

  /** Undefined: none is left. @throws the scripted Error, or an error once the signal aborts a silent call. */
  async next(signal: AbortSignal): Promise<T | undefined> {
    const answer = this.left.shift();
    if (answer === 'silence') return aborted(signal);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

/** The scripted answers about one payment that are left. */
export class ScriptedAnswers {
  readonly query = new Answers<QueryOutcome>();
  readonly close = new Answers<CloseOutcome>();
  readonly refund = new Answers<RefundOutcome>();

  add({ query = [], close = [], refund = [] }: PaymentScript): void {
    this.query.add(query);
    this.close.add(close);
    this.refund.add(refund);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new Error('the provider has not answered'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
