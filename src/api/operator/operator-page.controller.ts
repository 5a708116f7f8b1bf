import { Get, Param, Req, Res, StreamableFile, Body, Delete, HttpCode, Logger, Post } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { z } from 'zod';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { packageVersion, present } from '../../errors';
import { HttpProblem, InputPipe } from '../input';
import {
  CallerScope,
  type MerchantScope,
  type OperatorRequest,
  type OperatorRole,
  type OperatorSession,
  OperatorSessions,
  RateLimits,
  remoteNetworkOf,
  RequireRole,
  setCookie,
} from '../http';
import { OperatorController } from './page-actions';
import { type Overview, ReadOverview } from './overview';

const INDEX = 'index.html';

const NOT_BUILT = 'the operator page is not built; run npm run build in the clone, and restart';

/**
 * The built files of the page. They are read once, at the first request, and a request can name only what was read then: no
 * path is ever made from a request.
 */
export class OperatorFiles {
  private files: ReadonlyMap<string, OperatorFile> | undefined;

  /** @param directory where the build has written the page. */
  constructor(private readonly directory = BUILT) {}

  /** Undefined: there is no such file. */
  get(name: string): OperatorFile | undefined {
    this.files ??= readFiles(this.directory);
    return this.files.get(name);
  }
}

/** Serves the files of the page. They are the same for everybody, and hold no data. */
@OperatorController()
export class OperatorPageController {
  constructor(
    private readonly files: OperatorFiles,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** The page has relative links, so its own path must end with a slash, at whatever path a proxy serves it. */
  @Get()
  @RequireRole('nobody')
  index(@Req() request: OperatorRequest, @Res({ passthrough: true }) response: object): StreamableFile | undefined {
    if (/^[^?#]*\/(?:[?#]|$)/.test(request.url)) return this.send(INDEX, request, response);
    const { httpAdapter } = this.adapterHost;
    httpAdapter.status(response, 308);
    httpAdapter.setHeader(response, 'Location', 'operator/');
    return undefined;
  }

  @Get(':file')
  @RequireRole('nobody')
  file(
    @Param('file') name: string,
    @Req() request: OperatorRequest,
    @Res({ passthrough: true }) response: object,
  ): StreamableFile {
    // Fastify takes the path of the page itself for a file without a name.
    return this.send(name === '' ? INDEX : name, request, response);
  }

  private send(name: string, request: OperatorRequest, response: object): StreamableFile {
    const file = this.files.get(name);
    if (!file)
      throw new HttpProblem('ROUTE_NOT_FOUND', this.files.get(INDEX) ? 'the page has no such file' : NOT_BUILT);
    const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    for (const [header, value] of headersOf(file, isZipped))
      this.adapterHost.httpAdapter.setHeader(response, header, value);
    return new StreamableFile(isZipped ? file.gzipped : file.plain, { type: file.type });
  }
}

function headersOf({ isHashed }: OperatorFile, isZipped: boolean): [name: string, value: string][] {
  return [
    ['Vary', 'Accept-Encoding'],
    ...(isHashed ? ([['Cache-Control', 'public, max-age=31536000, immutable']] satisfies [string, string][]) : []),
    ...(isZipped ? ([['Content-Encoding', 'gzip']] satisfies [string, string][]) : []),
  ];
}

/** The operator who is signed in, as the page sees it. */
interface SessionView {
  readonly name: string;
  readonly roles: readonly OperatorRole[];
  /** Null: all. */
  readonly merchants: readonly string[] | null;
  readonly csrf: string;
  readonly expiresAt: Date;
  readonly version: string;
}

const MAX_KEY = 1_000;

const signInSchema = z.strictObject({ key: z.string().min(1, 'must not be empty').max(MAX_KEY) });

@OperatorController('api/session')
export class SessionController {
  private readonly logger = new Logger(SessionController.name);

  constructor(
    private readonly sessions: OperatorSessions,
    private readonly limits: RateLimits,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  @Post()
  @HttpCode(200)
  @RequireRole('nobody')
  async signIn(
    @Body(new InputPipe(signInSchema)) { key }: { key: string },
    @Req() request: OperatorRequest,
    @Res({ passthrough: true }) response: object,
  ): Promise<SessionView> {
    const begun = await this.limits.signIn(request, () => this.sessions.begin(key));
    if (begun === undefined) {
      this.logger.warn(`somebody at ${remoteNetworkOf(request)} failed to sign in: the operator key is unknown`);
      throw new HttpProblem('UNAUTHORIZED', 'the operator key is unknown');
    }
    this.logger.log(`operator "${begun.session.operator.name}" signed in from ${remoteNetworkOf(request)}`);
    this.answerCookie(request, response, begun.token);
    return toView(begun.session);
  }

  @Get()
  @RequireRole('read')
  read(@Req() { operatorSession }: OperatorRequest): SessionView {
    return toView(present(operatorSession, 'the session of an admitted request'));
  }

  @Delete()
  @HttpCode(204)
  @RequireRole('read')
  signOut(@Req() request: OperatorRequest, @Res({ passthrough: true }) response: object): void {
    this.answerCookie(request, response, null);
  }

  private answerCookie(request: OperatorRequest, response: object, token: string | null): void {
    this.adapterHost.httpAdapter.setHeader(response, 'Set-Cookie', setCookie(request, token));
  }
}

function toView({ operator: { name, roles, scope }, csrf, expiresAt }: OperatorSession): SessionView {
  return { name, roles, merchants: scope.merchants ?? null, csrf, expiresAt, version: packageVersion() };
}

@OperatorController('api/overview')
export class OverviewController {
  constructor(private readonly reading: ReadOverview) {}

  @Get()
  @RequireRole('read')
  read(@CallerScope() scope: MerchantScope): Promise<Overview> {
    return this.reading.execute(scope);
  }
}

interface OperatorFile {
  readonly type: string;
  /** It may be kept forever, because its name changes with its content. */
  readonly isHashed: boolean;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A name such as `app-3f9a2c1b.js`. */
const HASHED = /-[\w-]{8,}\.(js|css|svg)$/;

/** It is as far from this file in `src` as in `dist`. */
const BUILT = join(__dirname, '../../../dist/operator-page');

/** Empty if the page was not built, as in a clone before `npm run build`. */
function readFiles(directory: string): ReadonlyMap<string, OperatorFile> {
  const names = namesIn(directory).filter((name) => extname(name) in TYPES);
  return new Map(names.map((name) => [name, read(directory, name)]));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function read(directory: string, name: string): OperatorFile {
  const plain = readFileSync(join(directory, name));
  const type = TYPES[extname(name)] ?? 'application/octet-stream';
  return { type, isHashed: HASHED.test(name), plain, gzipped: gzipSync(plain) };
}
