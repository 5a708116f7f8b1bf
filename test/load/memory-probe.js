// Preloaded with `node -r` into a service process that has an IPC channel: tells its memory after a forced collection.
process.on('message', (message) => {
  if (message !== 'sample') return;
  if (!global.gc) throw new Error('node runs without --expose-gc');
  for (let round = 0; round < 3; round++) global.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo().length;
  process.send?.({ rss, heapUsed, external, resources });
});
// The channel alone is no reason to go on.
process.channel?.unref();
