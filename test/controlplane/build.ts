import { controlPlaneBinaries } from './binaries.ts';

// What the set-up of `npm test` and others runs: has the programs built, and says nothing else.
try {
  await controlPlaneBinaries();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
