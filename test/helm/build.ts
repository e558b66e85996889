import { helmProgram } from './program.ts';

// What the set-up of `npm test` runs: has helm built, and says nothing else.
try {
  await helmProgram();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
