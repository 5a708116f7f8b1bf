import { type Server } from 'node:http';
import { type INestApplication, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import request from 'supertest';
import { type Call, type Method } from './running-service';

export type AdapterName = 'express' | 'fastify';

interface HostPlan extends ModuleMetadata {
  readonly adapter: AdapterName;
  /** Called before it listens: prefixes and versions. */
  readonly configure?: (app: INestApplication) => void;
}

/** A host application that listens. */
export interface RunningHost {
  readonly app: INestApplication;
  readonly call: (method: Method, path: string, body?: object | string, headers?: Record<string, string>) => Call;
}

/** Starts an application with raw bodies on the HTTP server that it asks for. */
export async function openHost({ adapter, configure, ...metadata }: HostPlan): Promise<RunningHost> {
  @Module(metadata)
  class Host {}
  const options = { logger: false, abortOnError: false, rawBody: true } as const;
  const app =
    adapter === 'express'
      ? await NestFactory.create(Host, options)
      : await NestFactory.create<NestFastifyApplication>(Host, new FastifyAdapter(), options);
  configure?.(app);
  await app.listen(0, '127.0.0.1');
  return {
    app,
    call: (method, path, body, headers = {}) => {
      const sent = request(app.getHttpServer() as Server)[method](path);
      if (body !== undefined) void sent.set('content-type', 'application/json');
      for (const [name, value] of Object.entries(headers)) void sent.set(name, value);
      return body === undefined ? sent : sent.send(body);
    },
  };
}
