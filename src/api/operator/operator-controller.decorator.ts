import { applyDecorators, Controller, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import { OrderScopeGuard, ProblemFilter } from '../http';
import { OperatorGuard } from './operator.guard';

/** A controller under `operator`, or under `operator/path`. */
export function OperatorController(path = ''): ClassDecorator {
  return applyDecorators(
    Controller({ path: path === '' ? 'operator' : `operator/${path}`, version: VERSION_NEUTRAL }),
    UseGuards(OperatorGuard, OrderScopeGuard),
    UseFilters(ProblemFilter),
  );
}
