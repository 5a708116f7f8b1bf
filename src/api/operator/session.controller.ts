import { Body, Delete, Get, HttpCode, Logger, Post, Req, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { z } from 'zod';
import { packageVersion, present } from '../../errors';
import { InputPipe } from '../input';
import { HttpProblem, RateLimits, remoteNetworkOf } from '../http';
import { RequireRole } from './operator.guard';
import { OperatorController } from './operator-controller.decorator';
import { type OperatorRole } from './operator-keys';
import { type OperatorRequest } from './operator-request';
import { type OperatorSession, OperatorSessions } from './operator-sessions';
import { setCookie } from './session-cookie';

/** The operator who is signed in, as the page sees it. */
export interface SessionView {
  readonly name: string;
  readonly roles: readonly OperatorRole[];
  /** Null: all. */
  readonly merchants: readonly string[] | null;
  readonly csrf: string;
  readonly expiresAt: Date;
  /** Version of the package. */
  readonly version: string;
}

const MAX_KEY = 1_000;
const signInSchema = z.strictObject({ key: z.string().min(1, 'must not be empty').max(MAX_KEY) });

/** Signs in and out. */
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
