import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ShopModule } from './shop.module.js';
import { runShop } from './run-shop.js';

const create = () =>
  NestFactory.create<NestFastifyApplication>(ShopModule, new FastifyAdapter(), {
    rawBody: true,
    logger: ['warn', 'error'],
  });

void runShop(create);
