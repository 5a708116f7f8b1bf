import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type OperationsOptions } from './operations-options';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: OPERATIONS_OPTIONS } =
  new ConfigurableModuleBuilder<OperationsOptions>().setClassMethodName('forRoot').build();
