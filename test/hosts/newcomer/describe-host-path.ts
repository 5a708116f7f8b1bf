import { freePort } from '../../support/servers/free-port';
import { Newcomer } from './newcomer';
import { type Terminal } from './terminal';
import { WatchedHost } from './watched-host';

/** As the page promises. Downloads are a part of it. */
const LIMIT_MS = 5 * 60_000;

/**
 * README.md, followed with the newest release of a major version of NestJS. With `isWatched`, the application is edited
 * under `nest start --watch` then.
 */
export function describeHostPath(nest: number, { isWatched = false } = {}): void {
  describe(`a new user of NestJS ${nest}, with nothing but README.md,`, () => {
    let newcomer: Newcomer;
    let port: number;
    let app: Terminal;

    beforeAll(async () => {
      newcomer = await Newcomer.arrive();
      port = await freePort();
    });
    afterAll(() => newcomer.leave());

    it(
      'goes from an empty application to a closed order in five minutes',
      async () => {
        const holds = [`nest-${nest}`, `nest-${nest}-on-node-${process.version.slice(1).split('.')[0]}`];
        const replace = { '@nestjs/cli new': `@nestjs/cli@${nest} new` };
        const reading = { port, replace, holds, ready: /first-\d+ is closed/ };
        app = await newcomer.follow('### In a NestJS application', reading);
        expect(app.output).toMatch(/^first-\d+ is placed$/m);
      },
      LIMIT_MS,
    );

    if (!isWatched) return;
    it(
      'edits it under `nest start --watch`, and each restart closes the orders of the process before it',
      async () => {
        await app.close();
        const host = await WatchedHost.start(newcomer, port);
        // The application of `nest new` has no shutdown hooks, so the first process is killed, and the next one is stopped.
        await host.change('main.ts', 'await app.listen', 'app.enableShutdownHooks();\n  await app.listen', {
          says: 'is closed',
        });
        await host.change('app.module.ts', 'is closed', 'is closed, after an edit', {
          says: 'is closed, after an edit',
        });
      },
      LIMIT_MS,
    );
  });
}
