/**
 * Loaded into every child before its program: ends it when the owner dies, however the owner dies. The channel between
 * the two is closed by the kernel then.
 */
const FORCE_MS = 5_000;

process.once('disconnect', () => {
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.exit(1), FORCE_MS).unref();
});
// Only the listener is wanted: a program that has nothing left to do must be able to end.
process.channel?.unref();
