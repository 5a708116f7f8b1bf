import { type ArgumentsHost, Catch, type RpcExceptionFilter } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import { type RabbitContext } from '../../rabbit';
import { CommandRejectedError } from './command-rejected-error';
import { type DeliveryHistory, judgeCommand } from './judge-command';

/**
 * Passes errors of commands on to RabbitServer unchanged. Nest would replace them with "Internal server error".
 * Decides here whether to park the command, because only here the delivered message is known.
 */
@Catch()
export class CommandErrorFilter implements RpcExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): Observable<never> {
    const verdict = judgeCommand(error, historyOf(host.switchToRpc().getContext<RabbitContext>()));
    return throwError(() => (verdict.type === 'park' ? new CommandRejectedError(verdict.park, error) : error));
  }
}

function historyOf(context: RabbitContext): DeliveryHistory {
  const { deliveries, message } = context.getArgs()[0];
  return { deliveries, redelivered: message.fields.redelivered };
}
