import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, test } from '@jest/globals';
import { SCENARIOS, type ScenarioName } from '../../bench/options.ts';
import { eventually } from '../support/eventually.ts';
import { startMarked, type MarkedProcess } from '../support/marked-process.ts';

const BENCH = join(import.meta.dirname, '../../bench/run.ts');
/** It takes some 40 s on two cores that do nothing else. */
const LIMIT_MS = 300_000;

const dir = mkdtempSync(join(tmpdir(), 'tether-test-bench-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const startBench = (args: readonly string[]): MarkedProcess =>
  startMarked(BENCH, args, { TMPDIR: dir });

const HAND = 'what somebody wrote by hand';
const OLD = 'what was measured before';

function freshPage(): string {
  const page = join(dir, `${randomUUID()}.md`);
  writeFileSync(
    page,
    `# Page\n\n${HAND}\n\n<!-- results:begin -->\n\n${OLD}\n\n<!-- results:end -->\n\n` +
      `<!-- clusters:begin -->\n\n${OLD}\n\n<!-- clusters:end -->\n\n<!-- profile:begin -->\n\n${HAND}\n\n<!-- profile:end -->\n`,
  );
  return page;
}

/** What each is called on the page, in the order of the page. */
const TITLES: Readonly<Record<ScenarioName, string>> = {
  ceiling: 'Ceiling, 20 × 2',
  cold: 'Cold start, 20 × 2',
  churn: 'Churn, 20 × 2, 40 a second',
  'one-service': 'One Service, 1 × 20, 20 a second',
  resync: 'Idle resync, 20 × 2',
  apart: 'Roles apart, 20 × 2',
  death: 'Death under churn, 20 × 2, 40 a second',
  'fifty-clusters': 'Start with 6 linked clusters',
  'look-ups': 'Look-ups, 4 connections',
  'remote-change': 'Remote change, 20 a second',
  rotation: 'Rotation under a reader, 1 times',
  subscribers: '50 subscribers of one process',
  'large-cluster': 'A large cluster, 50 × 2',
  takeover: 'The owner of a cluster dies',
  outage: 'Outages under churn, 20 × 4, 20 a second',
  workers: 'More workers, a slow API server',
  growth: 'By size',
};

/** With TETHER_BENCH_ALL=1, as `.ci/run` has it, all of them; else one of each kind. */
const SHORT: readonly ScenarioName[] = ['churn', 'resync', 'rotation', 'workers', 'growth'];
const scenarios = process.env['TETHER_BENCH_ALL'] === '1' ? SCENARIOS : SHORT;

describe('the benchmark, in its quick form', () => {
  it(
    'runs scenarios of each part, misses nothing, fills its page and leaves nothing behind',
    async () => {
      const page = freshPage();
      const { ended } = startBench(['--quick', '--scenario', scenarios.join(','), '--out', page]);
      const { code, stdout, stderr, left } = await ended;
      expect({ code, left, stderr: code === 0 ? '' : stderr }).toEqual({
        code: 0,
        left: [],
        stderr: '',
      });
      const text = readFileSync(page, 'utf8');
      const titles = [...text.matchAll(/^### (.*)$/gm)].map(([, title]) => title);
      expect(titles.filter((title) => title !== 'At a glance')).toEqual(
        scenarios.map((name) => TITLES[name]),
      );
      expect(text).toMatch(/^\| 20 × 2 +\| 2 +\| 1 \+ 1 /m);
      expect(text).not.toContain('NaN');
      // Times mean nothing here; that nothing is missing or wrong does.
      const counted = text
        .split('\n')
        .filter((line) => /never seen|wrong in the end|no 200|lacked an endpoint/.test(line));
      const missed = counted.filter((line) => line.includes('**no**'));
      expect({ bars: counted.length > 4, missed }).toEqual({ bars: true, missed: [] });
      expect(text).not.toContain(OLD);
      expect(text.split(HAND)).toHaveLength(3);
      expect(stdout).toContain('### At a glance');
      expect(readdirSync(dir).filter((name) => name.startsWith('tether-bench-'))).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'profiles into its own part of the page, beside what was written by hand',
    async () => {
      const page = freshPage();
      const { code, stderr } = await startBench(['--quick', '--profile', 'churn', '--out', page])
        .ended;
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      const text = readFileSync(page, 'utf8');
      expect(text).toMatch(/<!-- profile churn:begin -->\n\nChurn, .* idle;/s);
      expect(text).toMatch(/\| `functions\/reconcile-service.ts` +\|/);
      expect(text.split(HAND)).toHaveLength(3);
      expect(text).toContain(OLD);
    },
    LIMIT_MS,
  );

  it(
    'ends all that it has started when it is interrupted',
    async () => {
      const bench = startBench(['--quick', '--scenario', 'death']);
      await eventually(() => expect(bench.stderr()).toContain('loaded:'), { timeoutMs: 120_000 });
      expect(await bench.stop(20_000)).toEqual({ code: 130, signal: null });
      expect((await bench.ended).left).toEqual([]);
      expect(readdirSync(dir).filter((name) => name.startsWith('tether-bench-'))).toEqual([]);
    },
    LIMIT_MS,
  );
});

test('a wrong option is said, with exit code 2', async () => {
  const { code, stderr } = await startBench(['--fast']).ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(/^bench: Unknown option '--fast'/);
});
