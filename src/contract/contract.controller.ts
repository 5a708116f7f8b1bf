import {
  Controller,
  Get,
  Header,
  Inject,
  Param,
  Req,
  type StreamableFile,
  UseFilters,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { HttpProblem, ProblemFilter } from '../api/http';
import { packageVersion } from '../errors';
import { HealthController } from '../operations';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../timeouts';
import { asyncApiDocument } from './amqp/async-api-document';
import { CONTENT_SECURITY_POLICY, docsFile, docsPage } from './docs-page';
import { openApiDocument } from './http/open-api-document';

/** Serves the documents of the API, and a page to try it. Needs no API key: they describe the product, not its data. */
@Controller({ version: VERSION_NEUTRAL })
@UseFilters(ProblemFilter)
export class ContractController {
  private documents: { readonly openApi: object; readonly asyncApi: object } | undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  @Get('openapi.json')
  openApi(): object {
    return this.describe().openApi;
  }

  @Get('asyncapi.json')
  asyncApi(): object {
    return this.describe().asyncApi;
  }

  @Get('docs')
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Content-Security-Policy', CONTENT_SECURITY_POLICY)
  page(@Req() { url }: { readonly url: string }): string {
    return docsPage(/\/(?:\?|$)/.test(url));
  }

  @Get('docs/:file')
  @Header('Cache-Control', 'public, max-age=3600')
  file(@Param('file') name: string): StreamableFile {
    const file = docsFile(name);
    if (!file) throw new HttpProblem('ROUTE_NOT_FOUND', `the page has no file "${name}"`);
    return file;
  }

  /** Made at the first request, when all controllers are there. */
  private describe() {
    const version = packageVersion();
    const hasHealth = this.discovery.getControllers().some(({ metatype }) => metatype === HealthController);
    this.documents ??= {
      openApi: openApiDocument({ version, hasHealth }),
      asyncApi: asyncApiDocument({ version, prefix: this.options.rabbit.prefix }),
    };
    return this.documents;
  }
}
