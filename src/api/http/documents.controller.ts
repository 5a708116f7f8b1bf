import {
  Controller,
  Get,
  Header,
  Inject,
  Param,
  Req,
  StreamableFile,
  UseFilters,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { createReadStream, readFileSync, type ReadStream } from 'node:fs';
import { join } from 'node:path';
import { HealthController } from '../../operations';
import { DEFAULT_PREFIX, TopologyNames } from '../../rabbit';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { HttpProblem } from '../input';
import { ProblemFilter } from './problem.filter';

/** Swagger UI styles elements in place and draws with data URLs. Everything else comes from this service. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

/** Serves the documents of the API, and a page to try it. Needs no API key: they describe the product, not its data. */
@Controller({ version: VERSION_NEUTRAL })
@UseFilters(ProblemFilter)
export class DocumentsController {
  private openApiDocument: object | undefined;
  private asyncApiDocument: object | undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  /** Made at the first request, when all controllers are there. */
  @Get('openapi.json')
  openApi(): object {
    const hasHealth = this.discovery.getControllers().some(({ metatype }) => metatype === HealthController);
    this.openApiDocument ??= hasHealth ? readDocument('openapi') : withoutHealth(readDocument('openapi') as OpenApi);
    return this.openApiDocument;
  }

  @Get('asyncapi.json')
  asyncApi(): object {
    this.asyncApiDocument ??= readDocument('asyncapi', this.options.rabbit.prefix);
    return this.asyncApiDocument;
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
}

interface OpenApi {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly tags: readonly string[] }>>>>;
}

/** One of the documents that `npm run contract` has made. It is as far from `docs` in `src` as in `dist`. */
export function readDocument(name: 'openapi' | 'asyncapi', prefix = DEFAULT_PREFIX): object {
  const text = readFileSync(join(__dirname, '../../../docs', `${name}.json`), 'utf8');
  const [usual, ours] = [new TopologyNames(DEFAULT_PREFIX), new TopologyNames(prefix)];
  const named = (['commands', 'events', 'parked'] as const).reduce(
    (all, which) => all.replaceAll(`"${usual[which]}"`, `"${ours[which]}"`),
    text,
  );
  return JSON.parse(named) as object;
}

/** The document of a host that does not import OperationsModule. */
export function withoutHealth(document: OpenApi): object {
  const isHealth = ([, methods]: [string, OpenApi['paths'][string]]): boolean =>
    Object.values(methods).some((operation) => operation.tags.includes('Health'));
  const tags = document.tags.filter(({ name }) => name !== 'Health');
  const paths = Object.entries(document.paths).filter((path) => !isHealth(path));
  return { ...document, tags, paths: Object.fromEntries(paths) };
}

/** The files of the page at /docs. */
export const DOCS_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'try.js'] as const;

type DocsFile = (typeof DOCS_FILES)[number];

const TYPES: Readonly<Record<DocsFile, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'try.js': 'text/javascript; charset=utf-8',
};

/** Inline scripts would need a weaker content security policy. */
const TRY = `SwaggerUIBundle({
  url: document.currentScript.dataset.document,
  dom_id: '#page',
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

/**
 * The page to try the API. Its links are relative, so that it works behind a proxy that takes a prefix off the path.
 *
 * @param hasSlash whether the request's path ends with a slash.
 */
function docsPage(hasSlash: boolean): string {
  const here = hasSlash ? '.' : './docs';
  const document = hasSlash ? '../openapi.json' : './openapi.json';
  const body = isInstalled()
    ? `<div id="page"></div>
<script src="${here}/swagger-ui-bundle.js"></script>
<script src="${here}/try.js" data-document="${document}"></script>`
    : `<p>This page needs the package <code>swagger-ui-dist</code>: run <code>npm install swagger-ui-dist@5</code>, and
restart. The API is described in <a href="${document}">openapi.json</a>.</p>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nestjs-order-timeout</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${here}/swagger-ui.css">
</head>
<body>
${body}
</body>
</html>
`;
}

/** A file of the page. Undefined: there is none with this name. */
function docsFile(name: string): StreamableFile | undefined {
  const file = DOCS_FILES.find((one) => one === name);
  if (file === undefined) return undefined;
  const type = TYPES[file];
  if (file === 'try.js') return new StreamableFile(Buffer.from(TRY), { type });
  return isInstalled() ? new StreamableFile(open(file), { type }) : undefined;
}

function open(file: DocsFile): ReadStream {
  return createReadStream(require.resolve(`swagger-ui-dist/${file}`));
}

/** It is an optional peer dependency, because it takes 12 MB. */
function isInstalled(): boolean {
  try {
    require.resolve('swagger-ui-dist/package.json');
    return true;
  } catch {
    return false;
  }
}
