/** Strips types and leaves the module syntax alone, as Node itself does. */
const transform = {
  '^.+\\.ts$': [
    '@swc/jest',
    {
      swcrc: false,
      jsc: {
        target: 'es2024',
        parser: { syntax: 'typescript', explicitResourceManagement: true },
      },
      module: { type: 'es6' },
    },
  ],
};

/**
 * Three files at a time when everything is run, each with an API server and a Redis of its own: processes
 * of one that look at all namespaces must not meddle with another's, and the tests wait as much as they
 * compute. A few files, or a control plane that is given, are run one at a time.
 */
const isWhole =
  process.argv.slice(2).every((argument) => argument.startsWith('-')) &&
  process.env.TETHER_TEST_KUBECONFIG === undefined;

const shared = {
  rootDir: import.meta.dirname,
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  // Fails a test file that leaves sockets, timers or child processes behind.
  testEnvironment: '<rootDir>/test/support/leak-check-environment.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  transform,
};

/** @type {import('jest').Config} */
export default {
  maxWorkers: isWhole ? 3 : 1,
  testTimeout: 60_000,
  projects: [
    {
      ...shared,
      displayName: 'unit',
      // A shared Redis alone: a unit run starts no API server.
      globalSetup: '<rootDir>/test/support/global-setup-redis.ts',
      testMatch: ['<rootDir>/test/{unit,contract}/**/*.test.ts'],
    },
    {
      ...shared,
      displayName: 'integration',
      // A shared Redis and a control plane.
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      testMatch: ['<rootDir>/test/{integration,parity,chaos,fuzz}/**/*.test.ts'],
    },
  ],
};
