import base from '../../jest.config.js';

const [, integration] = base.projects;

/** What `npm run test:redis` runs beside the suites that `npm test` has: failovers, which take minutes. */
export default {
  ...base,
  maxWorkers: 1,
  projects: [
    {
      ...integration,
      displayName: 'redis',
      testMatch: ['<rootDir>/test/redis/**/*.test.ts'],
    },
  ],
};
