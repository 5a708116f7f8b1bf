// Preloaded with `node -r` into the service from its sources: notes which of its files run for one request, and for one due
// wake-up until its acknowledgment, as JSON lines in the file that WAY_FILE names. The context of asynchronous calls
// tells that from what loops and other requests do meanwhile, which the inspector's coverage cannot.
import { AsyncLocalStorage } from 'node:async_hooks';
import { appendFileSync, readFileSync } from 'node:fs';
import { type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { join, sep } from 'node:path';
import amqp, { type Channel } from 'amqplib';
import ts from 'typescript';

interface Run {
  readonly way: 'request' | 'wake-up';
  readonly files: Set<string>;
}

const SOURCES = join(__dirname, '../../../src', sep);
const WORK_QUEUE = '.order.payment';

const runs = new AsyncLocalStorage<Run>();

/** What each function of the service calls first. */
Object.assign(globalThis, { noteFile: (file: string) => void runs.getStore()?.files.add(file) });

function write(run: Run | undefined): void {
  if (!run) return;
  const line = JSON.stringify({ way: run.way, files: [...run.files] });
  appendFileSync(process.env.WAY_FILE ?? '', `${line}\n`);
}

compileWithNotes();
recordRequests();
recordDeliveries();

function compileWithNotes(): void {
  const compilerOptions: ts.CompilerOptions = {
    ...{ module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, useDefineForClassFields: true },
  };
  require.extensions['.ts'] = (module, fileName) => {
    const before = fileName.startsWith(SOURCES) ? [notesOf(fileName.slice(SOURCES.length))] : [];
    const options = { compilerOptions, fileName, transformers: { before } };
    const { outputText } = ts.transpileModule(readFileSync(fileName, 'utf8'), options);
    (module as unknown as { _compile(code: string, file: string): void })._compile(outputText, fileName);
  };
}

function notesOf(file: string): ts.TransformerFactory<ts.SourceFile> {
  return (context) => {
    const { factory } = context;
    const note = (): ts.Expression =>
      factory.createCallExpression(factory.createIdentifier('noteFile'), [], [factory.createStringLiteral(file)]);
    const visit = (node: ts.Node): ts.Node => {
      const seen = ts.visitEachChild(node, visit, context);
      if (ts.isBlock(seen) && ts.isFunctionLike(node.parent))
        return factory.updateBlock(seen, [factory.createExpressionStatement(note()), ...seen.statements]);
      if (!ts.isArrowFunction(seen) || ts.isBlock(seen.body)) return seen;
      const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken } = seen;
      const body = factory.createParenthesizedExpression(factory.createComma(note(), seen.body));
      return factory.updateArrowFunction(
        seen,
        modifiers,
        typeParameters,
        parameters,
        type,
        equalsGreaterThanToken,
        body,
      );
    };
    return (source) => ts.visitEachChild(source, visit, context);
  };
}

function recordRequests(): void {
  const emit = Reflect.get(Server.prototype, 'emit') as (this: Server, event: string, ...given: unknown[]) => boolean;
  Server.prototype.emit = function (this: Server, event: string, ...given: unknown[]): boolean {
    const [request, response] = given as [IncomingMessage, ServerResponse];
    if (event !== 'request' || request.method !== 'POST') return emit.call(this, event, ...given);
    const run: Run = { way: 'request', files: new Set() };
    response.once('finish', () => write(run));
    return runs.run(run, () => emit.call(this, event, ...given));
  } as typeof Server.prototype.emit;
}

function recordDeliveries(): void {
  const connect = amqp.connect.bind(amqp);
  amqp.connect = (async (...given: Parameters<typeof connect>) => {
    const connection = await connect(...given);
    const createChannel = connection.createChannel.bind(connection);
    connection.createChannel = async (...options) => recordChannel(await createChannel(...options));
    return connection;
  }) as typeof amqp.connect;
}

function recordChannel(channel: Channel): Channel {
  const [consume, ack] = [channel.consume.bind(channel), channel.ack.bind(channel)];
  channel.consume = (queue, take, options) => {
    const record: typeof take = (message) => runs.run({ way: 'wake-up', files: new Set() }, () => take(message));
    return consume(queue, queue.endsWith(WORK_QUEUE) ? record : take, options);
  };
  channel.ack = (...given) => {
    ack(...given);
    write(runs.getStore());
  };
  return channel;
}
