#!/usr/bin/env node
// In the repository, not in dist: npm links a command only if its file exists when it installs, which is before the build.
const { existsSync } = require('node:fs');

const program = `${__dirname}/../dist/cli/main.js`;
if (existsSync(program)) {
  require(program);
} else {
  process.stderr.write('order-timeout is not built; run: npm run build\n');
  process.exitCode = 2;
}
