import { spawn } from 'node:child_process';

type Command = readonly [program: string, ...args: string[]];

const COMMANDS: Readonly<Partial<Record<NodeJS.Platform, Command>>> = {
  darwin: ['open'],
  linux: ['xdg-open'],
  // `start` takes the first quoted argument for a title.
  win32: ['cmd', '/c', 'start', '""'],
};

/** Shows an address in the browser of the desktop, if there is one. Nothing is said where that fails. */
export function openBrowser(address: string, { DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv): void {
  const command = COMMANDS[process.platform];
  const hasDesktop = process.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY);
  if (!command || !hasDesktop) return;
  const [program, ...args] = command;
  // Detached: the browser stays when the demo ends.
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined).unref();
}
