import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type TimeoutsOptions } from './timeouts-options';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: TIMEOUTS_OPTIONS } =
  new ConfigurableModuleBuilder<TimeoutsOptions>()
    .setClassMethodName('forRoot')
    .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
    .build();
