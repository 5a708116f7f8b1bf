/**
 * Fails a test file that leaves sockets, servers or timers behind: what keeps jest alive would keep a user's
 * process alive. Listens on what Node itself reports as keeping the event loop busy.
 */
const WATCHED = new Set(['TCPSocketWrap', 'TCPServerWrap', 'ProcessWrap', 'Timeout']);

function alive(): string[] {
  return process.getActiveResourcesInfo().filter((resource) => WATCHED.has(resource));
}

let before = 0;

// Inside a hook, as in afterAll: jest's own timer for a hook counts in both.
beforeAll(() => {
  before = alive().length;
});

afterAll(async () => {
  // Sockets report their end in a later turn of the event loop.
  for (let turn = 0; turn < 50 && alive().length > before; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 20).unref());
  }
  const left = alive();
  if (left.length > before)
    throw new Error(`left behind: ${left.slice(before).join(', ')}; close what the test opened`);
});
