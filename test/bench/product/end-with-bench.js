// Preloaded into every program of the benchmark: it never outlives the benchmark, however that ends.
'use strict';

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.channel?.unref();
