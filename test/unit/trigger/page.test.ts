import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = join(ROOT, 'examples/trigger');
const page = readFileSync(join(ROOT, 'docs/trigger.md'), 'utf8');

/** The blocks of code of the page, by their text. */
const blocks = new Set([...page.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, text]) => text));
const files = readdirSync(EXAMPLES).filter((name) => name !== 'README.md');

test.each(files)('docs/trigger.md shows examples/trigger/%s as it is', (name) => {
  expect([...blocks]).toContain(readFileSync(join(EXAMPLES, name), 'utf8'));
});

test('the recipes ask as the script does', () => {
  // Whatever is between the pipe and the URL, but for the indentation.
  const curlOf = (name: string): string[] => {
    const text = readFileSync(join(EXAMPLES, name), 'utf8');
    const [, , options = ''] = /curl (--config - )([^"]*)--header/.exec(text) ?? [];
    return options.split(/[\s\\]+/).filter((word) => word.startsWith('--'));
  };
  const script = curlOf('reconcile.sh');
  expect(script).toContain('--fail-with-body');
  for (const name of ['github-action.yaml', 'cronjob.yaml']) {
    for (const option of curlOf(name)) expect(script).toContain(option);
  }
});
