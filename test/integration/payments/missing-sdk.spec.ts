import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stretched } from '../../support/machine-load';

const run = promisify(execFile);
const root = join(__dirname, '..', '..', '..');

/** As if the package was not installed. */
const without = (sdk: string): string => `
  const Module = require('node:module');
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request, ...rest) {
    if (request === '${sdk}') throw Object.assign(new Error("Cannot find module '${sdk}'"), { code: 'MODULE_NOT_FOUND' });
    return resolve.call(this, request, ...rest);
  };
  const say = (error) => console.log(JSON.stringify({ code: error.code, message: error.message }));
`;

async function outputOf(program: string): Promise<unknown> {
  const options = { cwd: root, timeout: stretched(25_000) };
  const preload = join(root, 'test/support/compile-on-require.js');
  const { stdout } = await run(process.execPath, ['-r', preload, '-e', program], options);
  return JSON.parse(stdout);
}

describe('an adapter whose SDK is not installed', () => {
  it.each([
    ['stripe', 'stripe'],
    ['alipay', 'alipay-sdk'],
    ['wechat-pay', 'wechatpay-axios-plugin'],
  ])('nestjs-order-timeout/%s says what to install when it is imported', async (entry, sdk) => {
    const program = `${without(sdk)} try { require('./src/payments/${entry}/index.ts') } catch (error) { say(error) }`;
    expect(await outputOf(program)).toEqual({
      code: 'ORDER_TIMEOUT/MISSING_PACKAGE',
      message: `ORDER_TIMEOUT/MISSING_PACKAGE: nestjs-order-timeout/${entry} needs the package "${sdk}", which is not installed; run: npm install ${sdk}`,
    });
  });

  it('is reported among the problems of the providers file', async () => {
    const program = `${without('stripe')}
      const { createPaymentProvider } = require('./src/service/load-payment-providers.ts');
      try { createPaymentProvider('stripe', {}, {}) } catch (error) { say(error) }`;
    expect(await outputOf(program)).toMatchObject({
      code: 'ORDER_TIMEOUT/INVALID_OPTIONS',
      message: expect.stringContaining('needs the package stripe: npm install stripe') as string,
    });
  });

  it('is loaded if the SDK is installed', async () => {
    const program = `console.log(JSON.stringify(Object.keys(require('./src/payments/stripe/index.ts'))))`;
    expect(await outputOf(program)).toContain('StripeProvider');
  });
});
