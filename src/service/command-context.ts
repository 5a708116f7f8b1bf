import { type DynamicModule, type INestApplicationContext, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { OrderTimeoutModule } from '../module';
import { DORMANT } from '../timeouts';
import { DatabaseModule, toOptions, openDatabase } from './create-service';
import { type ServiceConfig, type Environment, loadConfig } from './config';
import { type LoadedFiles, loadFiles } from './load-payment-providers';

/** The use cases of the service, without the service: no HTTP, no consumer, no relay, no migration. */
@Module({})
class CommandModule {
  static forRoot(config: ServiceConfig, files: LoadedFiles, dataSource: DataSource): DynamicModule {
    return {
      module: CommandModule,
      imports: [
        DatabaseModule.forRoot(() => dataSource),
        OrderTimeoutModule.forRootAsync({
          inject: [DataSource],
          useFactory: (dataSource: DataSource) => ({
            ...toOptions(dataSource, config, files),
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
export async function openCommandContext(
  config: ServiceConfig,
  logger: LoggerService,
): Promise<INestApplicationContext> {
  const files = loadFiles(config);
  const dataSource = await openDatabase(config.database);
  try {
    const module = CommandModule.forRoot(config, files, dataSource);
    return await NestFactory.createApplicationContext(module, { abortOnError: false, logger });
  } catch (error) {
    // Nest does not shut down what it could not start, and an open pool keeps the process alive.
    await dataSource.destroy();
    throw error;
  }
}

export type Server = 'DATABASE_URL' | 'RABBITMQ_URLS';

/** Commands serve no HTTP, so they need no key and no operator page, and nobody reaches them. */
const NO_KEY = `command-line:${'0'.repeat(64)}:orders:read`;

/** Of servers that a command does not connect to. */
const NO_SERVER: Readonly<Record<Server, string>> = {
  DATABASE_URL: 'postgresql://unused.invalid/unused',
  RABBITMQ_URLS: 'amqp://unused.invalid',
};

/**
 * Pure: reads the configuration of the service for a command that needs only some of its servers.
 *
 * @throws InvalidOptionsError as `loadConfig` does.
 */
export function loadCommandConfig(environment: Environment, servers: readonly Server[]): ServiceConfig {
  const absent = (Object.keys(NO_SERVER) as Server[]).filter((name) => !servers.includes(name) && !environment[name]);
  const placeholders = Object.fromEntries(absent.map((name) => [name, NO_SERVER[name]]));
  const unserved = { API_KEYS: NO_KEY, OPERATOR_KEYS: '', PUBLISHED_ADDRESS: 'localhost' };
  return loadConfig({ ...environment, ...placeholders, ...unserved });
}
