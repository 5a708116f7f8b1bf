import { type ArgumentsHost, Catch, type RpcExceptionFilter } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import { type RabbitContext } from '../../rabbit';
import { CommandRejectedError } from './command-rejected-error';
import { judgeCommand } from './judge-command';

/**
 * Passes errors of commands on to RabbitServer unchanged. Nest would replace them with "Internal server error".
 * Decides here whether to park the command, because only here the delivered message is known.
 */
@Catch()
export class CommandErrorFilter implements RpcExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): Observable<never> {
    const [{ failures }] = host.switchToRpc().getContext<RabbitContext>().getArgs();
    const verdict = judgeCommand(error, failures);
    return throwError(() => (verdict.type === 'park' ? new CommandRejectedError(verdict.park, error) : error));
  }
}
