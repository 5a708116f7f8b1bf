import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { type RabbitContext } from '../../rabbit';
import { CommandRejectedError } from './command-rejected-error';

/** Admits messages whose sender waits for an answer. */
@Injectable()
export class AnswerableGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { replyTo, pattern } = context.switchToRpc().getContext<RabbitContext>();
    if (replyTo !== undefined) return true;
    const reason = `"${pattern}" only reads, so it needs a queue for the answer; set the property reply_to`;
    throw new CommandRejectedError({ code: 'REPLY_TO_MISSING', reason }, undefined);
  }
}
