import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../setup/say.mjs';
import { ALLOWED, FORBIDDEN } from './planted.mjs';
import { toolOutput } from './tool.mjs';

/**
 * Proves that the lint rules bite: plants a violation of each in a copy of the project's folders,
 * under the project's own configuration, and expects each one to be found, and nothing else. A rule
 * that a typing error in the configuration has switched off would be noticed by nobody.
 *
 * Gives what is wrong, or undefined.
 */
export async function proveLintRules() {
  const dir = mkdtempSync(join(tmpdir(), 'tether-lint-'));
  try {
    for (const name of ['.oxlintrc.json', 'tsconfig.json']) {
      copyFileSync(join(ROOT, name), join(dir, name));
    }
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
    for (const planted of [...FORBIDDEN, ...ALLOWED]) plant(dir, planted);
    const { stdout, stderr } = await toolOutput('oxlint', ['--type-aware', '-f', 'json'], dir);
    const found = JSON.parse(stdout || '{"diagnostics":[]}').diagnostics;
    const problems = [...unnoticed(found), ...falseAlarms(found)];
    return problems.length === 0 ? undefined : [...problems, stderr].join('\n');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function plant(dir, { file, code }) {
  const path = join(dir, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${code}\n`);
}

function unnoticed(found) {
  return FORBIDDEN.filter(
    ({ file, rule }) => !found.some((one) => one.filename === file && one.code.includes(rule)),
  ).map(({ file, rule, code }) => `${rule} was not noticed in ${file}: ${code.slice(0, 100)}`);
}

function falseAlarms(found) {
  return found
    .filter((one) => ALLOWED.some(({ file }) => file === one.filename))
    .map((one) => `${one.code} is reported for code that is allowed, in ${one.filename}`);
}
