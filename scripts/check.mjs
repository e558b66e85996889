// `npm run check`: types, lint, import rules, format and dead code, one line a step.
import { availableParallelism } from 'node:os';
import { proveLintRules } from './check/lint-rules.mjs';
import { runTool } from './check/tool.mjs';

const STEPS = [
  { name: 'types', work: () => runTool('tsc', ['--noEmit']) },
  { name: 'lint and import rules', work: () => runTool('oxlint', ['--type-aware', '--quiet']) },
  { name: 'lint rules bite', work: proveLintRules },
  { name: 'format', work: () => runTool('prettier', ['--check', '--log-level=warn', '.']) },
  {
    name: 'dead code',
    work: () => runTool('knip', ['--no-progress', '--no-config-hints']),
  },
];

async function runStep({ name, work }) {
  const start = Date.now();
  const problem = await work();
  const took = `${String(Date.now() - start).padStart(6)} ms`;
  process.stdout.write(`${problem === undefined ? 'ok    ' : 'FAILED'} ${took}  ${name}\n`);
  if (problem !== undefined) process.stdout.write(`${problem.trimEnd()}\n\n`);
  return problem === undefined;
}

/** As many steps at once as the machine has cores: each is a process of its own. */
async function runAll() {
  const waiting = [...STEPS];
  const results = [];
  const runner = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      results.push(await runStep(next));
    }
  };
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, runner));
  return results;
}

const start = Date.now();
const results = await runAll();
const failed = results.filter((ok) => !ok).length;
const seconds = ((Date.now() - start) / 1000).toFixed(1);
process.stdout.write(
  failed === 0
    ? `all ok in ${seconds} s\n`
    : `${failed} of ${results.length} failed (${seconds} s)\n`,
);
process.exitCode = failed === 0 ? 0 : 1;
