import root from '../../jest.config.js';

const [{ rootDir, extensionsToTreatAsEsm, moduleFileExtensions, transform, testEnvironment }] =
  root.projects;

/**
 * Not among the projects of `npm test`: it takes a Docker. `npm run test:compose` sees to that.
 *
 * @type {import('jest').Config}
 */
export default {
  rootDir,
  extensionsToTreatAsEsm,
  moduleFileExtensions,
  transform,
  testEnvironment,
  testMatch: ['<rootDir>/test/compose/**/*.test.ts'],
  maxWorkers: 1,
  // Bringing all up and down takes a while on a busy machine.
  testTimeout: 300_000,
};
