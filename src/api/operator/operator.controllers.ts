import { type Type } from '@nestjs/common';
import { OperatorOrdersController } from './operator-orders.controller';
import { OperatorPageController } from './operator-page.controller';
import { OverviewController } from './overview.controller';
import { SessionController } from './session.controller';

/** The controllers of the operator page. */
export const OPERATOR_CONTROLLERS: Type[] = [
  SessionController,
  OverviewController,
  OperatorOrdersController,
  OperatorPageController,
];
