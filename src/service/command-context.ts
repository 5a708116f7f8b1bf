import { type INestApplicationContext, type LoggerService, Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { OrderTimeoutModule } from '../module';
import { DORMANT } from '../timeouts';
import { toOptions } from './app.module';
import { type ServiceConfig } from './config';
import { typeOrmOptions } from './type-orm-options';

/** A command does one thing at a time; the sweep uses the most connections. */
const POOL_SIZE = 4;

/** The use cases of the service, without the service: no HTTP, no consumer, no relay, no migration. */
@Module({})
class CommandModule {
  static forRoot(config: ServiceConfig): DynamicModule {
    return {
      module: CommandModule,
      imports: [
        // A person who waits for an answer wants to know at once that there is no database.
        TypeOrmModule.forRoot({
          ...typeOrmOptions({ ...config.database, poolSize: POOL_SIZE, prepares: false }),
          retryAttempts: 1,
        }),
        OrderTimeoutModule.forRootAsync({
          inject: [DataSource],
          useFactory: (dataSource: DataSource) => ({
            ...toOptions(dataSource, config),
            migrate: false,
            // A command may act on timeouts of any kind, also of those whose handler is a host's.
            consume: false,
            [DORMANT]: true,
          }),
        }),
      ],
    };
  }
}

/**
 * Opens the use cases for one command. What it writes goes out through the instances that run. Close it in the end.
 *
 * @throws MissingTablesError, NewerSchemaError, MissingRightsError, or the error of the database driver
 */
export function openCommandContext(config: ServiceConfig, logger: LoggerService): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(CommandModule.forRoot(config), { abortOnError: false, logger });
}
