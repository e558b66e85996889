import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startMarked, type MarkedEnd } from '../support/marked-process.ts';

const DEMO = join(import.meta.dirname, '../../demo/demo.ts');
/** The programs of the control plane are built by now, so that this is the demo alone. */
const LIMIT_MS = 150_000;

const runDemo = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<MarkedEnd> =>
  startMarked(DEMO, args, env).ended;

test(
  'the demo shows every part, ends with 0 and leaves no process',
  async () => {
    const { code, stdout, stderr, left } = await runDemo([]);
    expect({ code, stderr, left }).toEqual({ code: 0, stderr: '', left: [] });
    expect(stdout).toMatch(/^=== Done in .* s: every change was followed ===$/m);
    expect(stdout).toMatch(/kill -9 \d+ +# tether worker$/m);
    expect(stdout).toMatch(/kill -9 \d+ +# tether up$/m);
    const times = [...stdout.matchAll(/the slice followed (\d+) ms after the workload changed/g)];
    expect(times.length).toBeGreaterThanOrEqual(8);
    // The other cluster: linked, followed, rotated under look-ups, unlinked.
    expect(stdout).toMatch(/^ +192\.0\.2\.12 +sql:5432 +east +ready /m);
    expect(stdout).toMatch(/^ +\+ \w+ 192\.0\.2\.11 sql:5432 serving$/m);
    expect(stdout).toMatch(/-> \d+ look-ups meanwhile, each with 2 endpoints, none refused$/m);
    expect(stdout).toMatch(/^ +no cluster east is linked/m);
    // Not a terminal: no colour.
    expect(stdout).not.toContain('\u001b');
  },
  LIMIT_MS,
);

test('a step that fails ends the demo with 1 and one sentence', async () => {
  const { code, stderr, left } = await runDemo([], { PATH: '/nonexistent', TETHER_REDIS_URL: '' });
  expect({ code, left }).toEqual({ code: 1, left: [] });
  expect(stderr).toMatch(/^demo: no Redis found: .*\n$/);
});

test('a wrong option is said, with exit code 2', async () => {
  const { code, stderr } = await runDemo(['--kep']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^demo: Unknown option '--kep'/);
});
