import { type DynamicModule, Module, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SystemClock } from '../clock';
import { retryWhileUnavailable } from '../database';
import { type ServiceConfig } from './config';
import { dataSourceOptions } from './data-source-options';

/** The connections of the service. Retries an unavailable server at the start, but not a wrong password. */
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(private readonly dataSource: DataSource) {}

  static forRoot(config: ServiceConfig['database']): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [{ provide: DataSource, useFactory: () => connect(config) }],
      exports: [DataSource],
    };
  }

  /** After everything that uses the connections has stopped. */
  async onApplicationShutdown(): Promise<void> {
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }
}

function connect(config: ServiceConfig['database']): Promise<DataSource> {
  return retryWhileUnavailable(new SystemClock(), () => new DataSource(dataSourceOptions(config)).initialize());
}
