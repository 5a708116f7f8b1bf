// Preloaded into every instance of a campaign: crash points, channel errors, clock jumps and handlers that hang, by
// message of the harness.
'use strict';

/**
 * @typedef {{ on(event: 'close', listener: () => void): unknown, checkQueue(name: string): Promise<unknown> }} Channel
 * @typedef {{ arm?: string, skip?: number, hang?: number, jumpMs?: number, breakChannel?: number }}
 *   Instruction  of instance.ts
 */

/** @type {Map<string, number>} */
const armed = new Map();
/** @type {Set<{ channel: Channel, name: string }>} */
const channels = new Set();
/** @type {Set<(value: unknown) => void>} */
const hanging = new Set();
let jumpMs = 0;
let hangs = 0;

// crash-points.ts adds calls of it to the build under test.
const campaign = {
  /** @param {string} point */
  at(point) {
    const left = armed.get(point);
    if (left === undefined) return;
    if (left > 0) return void armed.set(point, left - 1);
    // Written by the kernel at once, or not at all: the process is dead before the next statement.
    process.kill(process.pid, 'SIGKILL');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
  /** A run that never ends. The reference keeps it from being collected, as a handler's own would. */
  mayHang() {
    if (hangs === 0) return undefined;
    hangs -= 1;
    return new Promise((resolve) => hanging.add(resolve));
  },
  /** @param {Channel} channel @param {string} name */
  sees(channel, name) {
    channels.add({ channel, name });
    channel.on('close', () => {
      for (const seen of channels) if (seen.channel === channel) channels.delete(seen);
    });
  },
};
Object.assign(globalThis, { campaign });

const RealDate = Date;
Object.assign(globalThis, {
  Date: class extends RealDate {
    /** @param {[] | [value: number | string | Date]} args */
    constructor(...args) {
      if (args.length === 0) super(RealDate.now() + jumpMs);
      else super(...args);
    }
    /** @override */
    static now() {
      return RealDate.now() + jumpMs;
    }
  },
});

process.on('message', (received) => {
  const message = /** @type {Instruction} */ (received);
  if (message.arm) armed.set(message.arm, message.skip ?? 0);
  if (message.hang !== undefined) hangs = message.hang;
  if (message.jumpMs !== undefined) jumpMs = message.jumpMs;
  if (message.breakChannel !== undefined) {
    const open = [...channels];
    const chosen = open[message.breakChannel % Math.max(open.length, 1)];
    // A passive declare of what is not there closes the channel with 404.
    chosen?.channel.checkQueue(`order-timeout.nowhere-${process.pid}`).catch(() => undefined);
  }
});
