import { type Type } from '@nestjs/common';
import { OperatorActionsController } from './operator-actions.controller';
import { OperatorBulkController } from './operator-bulk.controller';
import { OperatorControlsController } from './operator-controls.controller';
import { OperatorMessagesController } from './operator-messages.controller';
import { OperatorMoneyController } from './operator-money.controller';
import { OperatorOrdersController } from './operator-orders.controller';
import { OperatorPageController } from './operator-page.controller';
import { OperatorTimeoutsController } from './operator-timeouts.controller';
import { OverviewController } from './overview.controller';
import { SessionController } from './session.controller';

/** The controllers of the operator page. */
export const OPERATOR_CONTROLLERS: Type[] = [
  SessionController,
  OverviewController,
  OperatorOrdersController,
  OperatorActionsController,
  OperatorBulkController,
  OperatorTimeoutsController,
  OperatorMoneyController,
  OperatorMessagesController,
  OperatorControlsController,
  OperatorPageController,
];
