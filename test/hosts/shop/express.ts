import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { ShopModule } from './shop.module.js';
import { runShop } from './run-shop.js';

const create = () =>
  NestFactory.create<NestExpressApplication>(ShopModule, { rawBody: true, logger: ['warn', 'error'] });

void runShop(create);
