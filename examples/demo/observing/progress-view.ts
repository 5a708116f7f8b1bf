import { SingleBar } from 'cli-progress';

/** What the live line shows. */
export interface ProgressNumbers {
  readonly placed: number;
  /** Orders that are PAID, CLOSED or CANCELLED. */
  readonly done: number;
  readonly events: number;
  readonly note: string;
}

/** Shows how far the run is, until it is stopped. */
export interface ProgressView {
  update(numbers: ProgressNumbers): void;
  stop(): void;
}

const PLAIN_EVERY_MS = 2_000;

/** A bar on a terminal, and a plain line every two seconds anywhere else. */
export function openProgress(total: number, stream: NodeJS.WriteStream): ProgressView {
  return stream.isTTY ? openBar(total, stream) : openLines(total, stream);
}

function openBar(total: number, stream: NodeJS.WriteStream): ProgressView {
  const bar = new SingleBar({
    stream,
    format: '  {bar} {value}/{total} decided · {placed} placed · {events} events · {duration} s · {note}',
    barsize: 24,
    hideCursor: true,
    // Ctrl-C is ours: it cleans up first.
    gracefulExit: false,
  });
  bar.start(total, 0, { placed: 0, events: 0, note: '' });
  return {
    update: ({ done, ...rest }) => bar.update(done, rest),
    stop: () => bar.stop(),
  };
}

function openLines(total: number, stream: NodeJS.WriteStream): ProgressView {
  const startedAt = performance.now();
  let shownAt = -Infinity;
  let latest: ProgressNumbers | undefined;
  const show = ({ placed, done, events, note }: ProgressNumbers): void => {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    stream.write(`  ${seconds} s: ${placed} placed, ${done} of ${total} decided, ${events} events, ${note}\n`);
  };
  return {
    update: (numbers) => {
      latest = numbers;
      if (performance.now() - shownAt < PLAIN_EVERY_MS) return;
      shownAt = performance.now();
      show(numbers);
    },
    stop: () => latest && show(latest),
  };
}
