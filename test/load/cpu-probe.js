// Preloaded with `node -r` into a service process that has an IPC channel: tells how much CPU it has used, microseconds.
process.on('message', (message) => {
  if (message !== 'cpu') return;
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
// The channel alone is no reason to go on.
process.channel?.unref();
