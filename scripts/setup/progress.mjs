// Everything here goes to stderr: stdout belongs to results (`npm run stack -- status --json` is read by programs).
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const lively = Boolean(process.stderr.isTTY) && process.env.CI === undefined;
// Without a terminal a line every so often shows that a wait is not a hang, and a log stays readable.
const tickMs = lively ? 100 : 10_000;

/** @typedef {{ label: string, note: string, startedAt: number }} RunningTask */
/** @typedef {(text: string) => void} Note  If showProgress spells it out, TypeScript infers `any` for T. */
/**
 * @typedef {{ signal?: AbortSignal | undefined, note?: Note | undefined }} StepOptions
 *   `signal` aborts a long step, `note` reports what it is doing
 */

/** @type {Set<RunningTask>} */
const running = new Set();
/** @type {NodeJS.Timeout | undefined} */
let ticker;
let frame = 0;

/** @param {number} milliseconds */
export const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;

/** @param {RunningTask} task */
function describe(task) {
  const elapsed = Math.round((performance.now() - task.startedAt) / 1000);
  return `${task.label}${task.note ? `: ${task.note}` : ''} ${elapsed} s`;
}

function drawLine() {
  frame = (frame + 1) % frames.length;
  const text = `${frames[frame]} ${[...running].map(describe).join(' · ')}`;
  process.stderr.write(`\r\x1b[2K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`);
}

function tick() {
  if (lively) return drawLine();
  for (const task of running) process.stderr.write(`      ${describe(task)} …\n`);
}

/** @param {string} text */
function printLine(text) {
  process.stderr.write(lively ? `\r\x1b[2K${text}\n` : `${text}\n`);
}

/** @param {RunningTask} task */
function end(task) {
  running.delete(task);
  if (running.size > 0) return;
  clearInterval(ticker);
  ticker = undefined;
  if (lively) process.stderr.write('\r\x1b[2K');
}

/** One sentence for the reader. @param {string} text */
export const say = (text) => printLine(text);

/**
 * Shows that something goes on for as long as `work` runs, and how long it took.
 *
 * @template T
 * @param {string} label
 * @param {(note: Note) => Promise<T>} work  may tell what it is at by `note`
 * @returns {Promise<T>}
 */
export async function showProgress(label, work) {
  const task = { label, note: '', startedAt: performance.now() };
  const note = (/** @type {string} */ text) => {
    if (!lively && text !== task.note) printLine(`  …   ${label}: ${text}`);
    task.note = text;
  };
  if (!lively) printLine(`  …   ${label}`);
  running.add(task);
  ticker ??= setInterval(tick, tickMs).unref();
  return work(note).then(
    (result) => {
      report(task, '✔', 'ok');
      return result;
    },
    (/** @type {unknown} */ error) => {
      report(task, '✖', 'FAIL');
      throw error;
    },
  );
}

/** @param {RunningTask} task @param {string} sign @param {string} word */
function report(task, sign, word) {
  end(task);
  printLine(`${lively ? sign : word.padEnd(5)} ${task.label} (${seconds(performance.now() - task.startedAt)})`);
}

/**
 * For a lock that somebody else holds.
 *
 * @param {Note | undefined} note
 * @param {string} text
 * @returns {import('./lock.mjs').WhileWaiting}
 */
export const noteWhileWaiting = (note, text) => (wait, holder) => {
  note?.(`${text}: ${holder}`);
  return wait();
};
