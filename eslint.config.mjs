import { existsSync } from 'node:fs';
import { join } from 'node:path';
import tseslint from 'typescript-eslint';

const timers = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval'];

// Its types are needed; npm run suite -- prisma installs and generates them.
const hasPrisma = existsSync(join(import.meta.dirname, 'test/hosts/prisma/generated'));
const uninstalled = hasPrisma ? [] : ['test/hosts/prisma'];

export default tseslint.config(
  {
    ignores: [
      'dist',
      'packages/*/dist',
      'coverage',
      '.stack',
      'test/architecture/fixtures',
      'test/hosts/clients/programs',
      'test/hosts/prisma/generated',
      ...uninstalled,
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: [
          './tsconfig.json',
          './packages/operator-page/tsconfig.json',
          ...(hasPrisma ? ['./test/hosts/prisma/tsconfig.json'] : []),
        ],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      // Empty decorated modules are how NestJS is written.
      '@typescript-eslint/no-extraneous-class': 'off',
      // An async method may satisfy a port without awaiting anything.
      '@typescript-eslint/require-await': 'off',
      'max-lines': ['error', { max: 450 }],
      'max-lines-per-function': ['error', { max: 60 }],
    },
  },
  {
    files: ['src/**', 'packages/*/src/**'],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'error' },
  },
  {
    files: ['src/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Use the Clock port.' },
        { object: 'process', property: 'env', message: 'Environment is read in service/config.ts only.' },
      ],
      'no-restricted-globals': ['error', ...timers.map((name) => ({ name, message: 'Use the Clock port.' }))],
    },
  },
  {
    // Options are as few as somebody has written.
    files: ['src/**'],
    ignores: ['src/**/*-options.ts', 'src/orders/model/order-policies.ts', 'src/service/load-payment-providers.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'CallExpression[callee.property.name=/^(push|unshift|splice|min|max)$/] > SpreadElement.arguments',
          message:
            'Arguments are at most some 120 000: a longer list ends in a RangeError. Use a loop, concat or reduce.',
        },
      ],
    },
  },
  {
    // The two places that own what the rule above protects.
    files: ['src/clock/clock.ts', 'src/service/config.ts', 'src/main.ts', 'src/cli/main.ts'],
    rules: { 'no-restricted-properties': 'off', 'no-restricted-globals': 'off' },
  },
  {
    // Files that Node loads as CommonJS.
    files: ['**/*.js', '**/*.cjs'],
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  {
    // node:test itself awaits the promise that test() returns.
    files: ['**/*.test.mjs'],
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: 'test' }] },
      ],
    },
  },
  {
    // A describe block is one function and a table of cases is long by nature.
    files: ['test/**'],
    rules: { 'max-lines-per-function': 'off', 'max-lines': ['error', { max: 450 }] },
  },
);
