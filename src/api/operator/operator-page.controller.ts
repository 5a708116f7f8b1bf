import { Get, Param, Req, Res, StreamableFile } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { HttpProblem } from '../http';
import { OperatorController } from './operator-controller.decorator';
import { type OperatorFile, OperatorFiles } from './operator-files';
import { type OperatorRequest } from './operator-request';
import { RequireRole } from './operator.guard';

const INDEX = 'index.html';
const NOT_BUILT = 'the operator page is not built; run npm run build in the clone, and restart';

/** Serves the files of the page. They are the same for everybody, and hold no data. */
@OperatorController()
export class OperatorPageController {
  constructor(
    private readonly files: OperatorFiles,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** The page has relative links, so its own path must end with a slash, at whatever path a proxy serves it. */
  @Get()
  @RequireRole('nobody')
  index(@Req() request: OperatorRequest, @Res({ passthrough: true }) response: object): StreamableFile | undefined {
    if (/^[^?#]*\/(?:[?#]|$)/.test(request.url)) return this.send(INDEX, request, response);
    const { httpAdapter } = this.adapterHost;
    httpAdapter.status(response, 308);
    httpAdapter.setHeader(response, 'Location', 'operator/');
    return undefined;
  }

  @Get(':file')
  @RequireRole('nobody')
  file(
    @Param('file') name: string,
    @Req() request: OperatorRequest,
    @Res({ passthrough: true }) response: object,
  ): StreamableFile {
    // Fastify takes the path of the page itself for a file without a name.
    return this.send(name === '' ? INDEX : name, request, response);
  }

  private send(name: string, request: OperatorRequest, response: object): StreamableFile {
    const file = this.files.get(name);
    if (!file)
      throw new HttpProblem('ROUTE_NOT_FOUND', this.files.get(INDEX) ? 'the page has no such file' : NOT_BUILT);
    const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    for (const [header, value] of headersOf(file, isZipped))
      this.adapterHost.httpAdapter.setHeader(response, header, value);
    return new StreamableFile(isZipped ? file.gzipped : file.plain, { type: file.type });
  }
}

function headersOf({ isHashed }: OperatorFile, isZipped: boolean): [name: string, value: string][] {
  return [
    ['Vary', 'Accept-Encoding'],
    ...(isHashed ? ([['Cache-Control', 'public, max-age=31536000, immutable']] satisfies [string, string][]) : []),
    ...(isZipped ? ([['Content-Encoding', 'gzip']] satisfies [string, string][]) : []),
  ];
}
