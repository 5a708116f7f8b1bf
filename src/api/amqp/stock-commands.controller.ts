import { Controller, UseFilters } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { RABBIT_TRANSPORT } from '../../rabbit';
import { ChangeStock, type StockLevel } from '../../inventory';
import { InputPipe, rejectStock, RequestRejectedError } from '../input';
import { CommandErrorFilter } from './command-error.filter';
import { COMMAND_SCHEMAS, type CommandBody } from './command-schemas';

/** Commands that change stock. RabbitServer runs those of one SKU in the order in which they were sent. */
@Controller()
@UseFilters(CommandErrorFilter)
export class StockCommandsController {
  constructor(private readonly changing: ChangeStock) {}

  @EventPattern<string>('stock.changed', RABBIT_TRANSPORT)
  async changed(
    @Payload(new InputPipe(COMMAND_SCHEMAS['stock.changed'])) command: CommandBody<'stock.changed'>,
  ): Promise<StockLevel> {
    const { sku, merchantId, ...move } = command;
    const outcome = await this.changing.execute(sku, move, merchantId);
    if (outcome.type === 'set') return outcome.level;
    if (outcome.type !== 'foreign') throw rejectStock(sku, outcome);
    const reason = `SKU "${sku}" is shared or belongs to another merchant than "${merchantId}"; leave merchantId out`;
    throw new RequestRejectedError('SKU_OF_ANOTHER_MERCHANT', reason);
  }
}
