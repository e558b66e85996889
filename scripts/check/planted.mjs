// Code that the lint must refuse, and code that it must let through. Each goes into a file of its own.

const IMPORTS = 'no-restricted-imports';

/** Which folder must not import which. */
const FORBIDDEN_IMPORTS = {
  core: [
    '../platform/x.ts',
    '../functions/x.ts',
    '../watcher/x.ts',
    '../lookup/x.ts',
    '../trigger/x.ts',
    '../cli/x.ts',
  ],
  platform: [
    '../functions/x.ts',
    '../watcher/x.ts',
    '../lookup/x.ts',
    '../trigger/x.ts',
    '../cli/x.ts',
  ],
  watcher: [
    '../functions/x.ts',
    '../lookup/x.ts',
    '../trigger/x.ts',
    '../cli/x.ts',
    '../test/x.ts',
  ],
  functions: [
    '../watcher/x.ts',
    '../lookup/x.ts',
    '../trigger/x.ts',
    '../cli/x.ts',
    '../test/x.ts',
  ],
  lookup: [
    '../watcher/x.ts',
    '../functions/x.ts',
    '../trigger/x.ts',
    '../cli/x.ts',
    '../test/x.ts',
  ],
  trigger: [
    '../watcher/x.ts',
    '../functions/x.ts',
    '../lookup/x.ts',
    '../cli/x.ts',
    '../test/x.ts',
    'node:process',
  ],
  cli: ['../test/x.ts', '../bench/x.ts', 'node:process'],
  'platform/kube': ['../../functions/x.ts', '../../cli/x.ts'],
  'watcher/remote': ['../../functions/x.ts', '../../lookup/x.ts'],
  'functions/plan': ['../x.ts', '../../platform/x.ts', 'node:fs', 'node:crypto', 'ioredis'],
};
const CORE_IO = ['node:fs', 'node:net', 'fs', 'ioredis', 'bullmq', 'undici', 'pino'];
const ALLOWED_IMPORTS = {
  core: ['./x.ts', 'node:crypto', 'ipaddr.js'],
  platform: ['../core/x.ts', './x.ts', 'node:fs', 'ioredis'],
  watcher: ['../core/x.ts', '../platform/x.ts', './x.ts'],
  functions: ['../core/x.ts', '../platform/x.ts', './plan/x.ts', 'bullmq'],
  lookup: ['../core/x.ts', '../platform/x.ts', 'node:http'],
  trigger: ['../core/x.ts', '../platform/x.ts', './x.ts'],
  cli: [
    '../core/x.ts',
    '../platform/x.ts',
    '../watcher/x.ts',
    '../functions/x.ts',
    '../lookup/x.ts',
    '../trigger/x.ts',
  ],
  'functions/plan': ['./x.ts', '../../core/x.ts', 'ipaddr.js'],
};

const IMPURE = [
  'Date.now()',
  'new Date()',
  'process.pid',
  'performance.now()',
  'setTimeout(() => undefined, 1)',
  'setInterval(() => undefined, 1)',
  'fetch("http://example.com")',
  'crypto.randomUUID()',
  'globalThis',
];

const repeat = (count, line) => Array.from({ length: count }, (_, n) => line(n)).join('\n');
const branches = repeat(13, (n) => `  if (x === ${n}) return ${n};`);

/** Anything in any folder of the product. */
const ANYWHERE = [
  ['no-floating-promises', 'const later = async () => 1;\nexport function f() { later(); }'],
  ['no-explicit-any', 'export const x: any = 1;'],
  ['no-non-null-assertion', 'export const f = (x: string | undefined) => x!.length;'],
  ['no-console', 'console.log(1);'],
  ['complexity', `export function f(x: number) {\n${branches}\n  return 99;\n}`],
  [
    'max-depth',
    'export function f(x: boolean) { if (x) { if (x) { if (x) { if (x) { if (x) {}}}}}}',
  ],
  ['max-params', 'export const f = (a: 1, b: 1, c: 1, d: 1, e: 1, g: 1) => [a, b, c, d, e, g];'],
  ['max-lines', repeat(251, (n) => `export const x${n} = 1;`)],
  ['max-lines-per-function', `export function f() {\n${repeat(41, (n) => `  f.x${n}();`)}\n}`],
  ['no-restricted-properties', "export const x = process.env['X'];"],
  [
    'switch-exhaustiveness-check',
    "export function f(x: 'a' | 'b') { switch (x) { case 'a': return 1; } return 2; }",
  ],
];

const asFiles = (table, folder) =>
  Object.entries(table).flatMap(([where, specifiers]) =>
    specifiers.map((specifier, index) => ({
      file: `${where}/${folder}-${index}.ts`,
      rule: IMPORTS,
      code: `import { x } from '${specifier}';\nexport const y = x;`,
    })),
  );

/** Each must be reported under its rule. */
export const FORBIDDEN = [
  ...asFiles(FORBIDDEN_IMPORTS, 'forbidden'),
  ...asFiles({ core: CORE_IO }, 'io'),
  { file: 'core/dynamic.ts', rule: IMPORTS, code: "export const x = import('undici');" },
  { file: 'core/type.ts', rule: IMPORTS, code: "export type { Redis } from 'ioredis';" },
  ...IMPURE.map((code, index) => ({
    file: `functions/plan/impure-${index}.ts`,
    rule: 'no-restricted-globals',
    code: `export const x = () => ${code};`,
  })),
  {
    file: 'functions/plan/random.ts',
    rule: 'no-restricted-properties',
    code: 'export const x = () => Math.random();',
  },
  ...ANYWHERE.map(([rule, code]) => ({ file: `watcher/any-${rule}.ts`, rule, code })),
  {
    file: 'trigger/env.ts',
    rule: 'no-restricted-properties',
    code: "export const x = process.env['X'];",
  },
  { file: 'core/cycle-a.ts', rule: 'no-cycle', code: "export { b } from './cycle-b.ts';" },
  { file: 'core/cycle-b.ts', rule: 'no-cycle', code: "export { b } from './cycle-a.ts';" },
];

/** None may be reported. */
export const ALLOWED = [
  ...asFiles(ALLOWED_IMPORTS, 'allowed'),
  { file: 'platform/config.ts', code: "export const x = process.env['X'];" },
  { file: 'test/unit/env.test.ts', code: "export const x = process.env['X'];" },
  { file: 'scripts/env.mjs', code: 'export const x = process.env.X;' },
  { file: 'examples/says.mjs', code: 'console.log(1);' },
  { file: 'functions/plan/pure.ts', code: 'export const x = (n: number) => Math.max(n, 1);' },
];
