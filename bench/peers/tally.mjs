/** How often each job ran, and how late. */
export class Tally {
  #lateMs;
  #left;
  #early = 0;
  #repeated = 0;
  /** @type {() => void} */
  #onAll = () => undefined;

  /** @param {number} count */
  constructor(count) {
    this.#lateMs = new Float64Array(count).fill(Number.NaN);
    this.#left = count;
  }

  /** @param {import('./shapes.mjs').Job} job @param {number} startedAtMs */
  add({ index, dueAtMs }, startedAtMs) {
    if (!Number.isNaN(this.#lateMs[index])) {
      this.#repeated += 1;
      return;
    }
    this.#lateMs[index] = startedAtMs - dueAtMs;
    if (startedAtMs < dueAtMs) this.#early += 1;
    this.#left -= 1;
    if (this.#left === 0) this.#onAll();
  }

  /** @param {number} limitMs */
  async all(limitMs) {
    if (this.#left === 0) return;
    await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`${this.#left} jobs have not run`)), limitMs).unref();
      this.#onAll = () => resolve(undefined);
    });
  }

  /** Milliseconds. `repeated`: how often a job ran once more. @throws when one ran too early. */
  result() {
    if (this.#early > 0) throw new Error(`${this.#early} jobs ran too early`);
    const sorted = Array.from(this.#lateMs).sort((a, b) => a - b);
    const at = (/** @type {number} */ share) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
    return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), repeated: this.#repeated };
  }
}
