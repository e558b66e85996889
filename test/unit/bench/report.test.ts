import { describe, expect, it } from '@jest/globals';
import { listed } from '../../../bench/report/cost-figures.ts';
import {
  format,
  formatSpread,
  renderSection,
  table,
  wrap,
} from '../../../bench/report/markdown.ts';
import { partOf, replaceInnerPart, replacePart } from '../../../bench/report/page.ts';
import { renderResults } from '../../../bench/report/results.ts';
import type { Section } from '../../../bench/report/section.ts';
import { atMost, noWorse } from '../../../bench/scenarios/bars.ts';

const SECTION: Section = {
  title: 'Cold start, 500 × 4',
  intro: 'What was done.',
  rows: [
    { id: 'rate', label: 'Services a second', digits: 0 },
    { id: 'first', label: 'ms to the first slice', digits: 1 },
    { id: 'nobody', label: 'what nobody has', digits: 1 },
  ],
  columns: [
    { title: 'Tether', runs: [{ rate: 1000, first: 300 }, { rate: 1200 }, { rate: 1100 }] },
    { title: 'peer', runs: [{ rate: 550 }, { rate: 500 }, { rate: 600 }] },
  ],
  ratio: true,
  notes: ['One line.'],
  bars: [{ what: 'cold', bound: 'at least 550', measured: '1,100', met: true }],
};

describe('a section', () => {
  it('shows medians, the extremes where they differ, and the ratio of medians', () => {
    expect(renderSection(SECTION)).toBe(`### Cold start, 500 × 4

What was done.

|                       | Tether              | peer          | ratio |
| --------------------- | ------------------- | ------------- | ----- |
| Services a second     | 1,100 (1,000–1,200) | 550 (500–600) | 2.00  |
| ms to the first slice | 300.0               | –             |       |

- One line.`);
  });

  it('is preceded by the machine and by all bars', () => {
    const missed = { what: 'p50', bound: 'at most 8.0', measured: '9.1', met: false };
    const results = renderResults('Measured on a machine.', [
      SECTION,
      { ...SECTION, bars: [missed] },
    ]);
    expect(results).toContain('Measured on a machine.\n\n### At a glance\n\n| what');
    expect(results).toContain('| cold | at least 550 | 1,100    | yes    |');
    expect(results).toContain('| p50  | at most 8.0  | 9.1      | **no** |');
  });

  it('formats numbers as people read them', () => {
    expect(format(12_345.678, 1)).toBe('12,345.7');
    expect(formatSpread(undefined, 1)).toBe('–');
    expect(formatSpread({ median: 8.04, min: 8.01, max: 8.04 }, 1)).toBe('8.0');
  });

  it('pads cells by characters', () => {
    expect(table([['a'], ['bö–d']])).toBe('| a    |\n| ---- |\n| bö–d |');
  });

  it('breaks paragraphs at spaces, and never inside of a word', () => {
    const text = Array.from({ length: 60 }, (_, at) => `word${at}`).join(' ');
    const lines = wrap(text, '  ').split('\n');
    expect(lines.every((line) => line.length <= 108)).toBe(true);
    expect(lines.slice(1).every((line) => line.startsWith('  word'))).toBe(true);
    expect(lines.map((line) => line.trim()).join(' ')).toBe(text);
  });

  it('lists counters, the most frequent first', () => {
    const counters = new Map(Array.from({ length: 18 }, (_, at) => [`c${at}`, at * 1000] as const));
    expect(listed(counters)).toMatch(/^c17 17,000, c16 16,000, .*, 2 more kinds$/);
  });
});

describe('bars', () => {
  it('is met by being as good as the other', () => {
    const compare = (ours: number, better: 'higher' | 'lower') =>
      noWorse({
        what: 'x',
        columns: [
          { title: 'Tether', runs: [{ v: ours }] },
          { title: 'peer', runs: [{ v: 10 }] },
        ],
        id: 'v',
        digits: 0,
        better,
      });
    expect(compare(10, 'higher')).toMatchObject([{ bound: 'at least 10 (peer)', met: true }]);
    expect(compare(9, 'higher')).toMatchObject([{ met: false }]);
    expect(compare(9, 'lower')).toMatchObject([{ bound: 'at most 10 (peer)', met: true }]);
    expect(compare(11, 'lower')).toMatchObject([{ met: false }]);
    expect(compare(NaN, 'lower')).toEqual([]);
  });

  it('is missed by one run that is above a limit', () => {
    const column = { title: 'Tether', runs: [{ v: 1 }, { v: 3 }, { v: 1 }] };
    expect(atMost('x', column, { id: 'v', digits: 0 }, 2)).toMatchObject([
      { measured: '3', met: false },
    ]);
    expect(atMost('x', column, { id: 'v', digits: 0 }, 3)).toMatchObject([{ met: true }]);
  });
});

describe('a part of a page', () => {
  const PAGE =
    '# T\n\nby hand\n\n<!-- results:begin -->\n\nold\n\n<!-- results:end -->\n\nmore by hand\n';

  it('is replaced, and all else stays', () => {
    const page = replacePart(PAGE, 'results', 'new\n');
    expect(page).toBe(PAGE.replace('old', 'new'));
    expect(partOf(page, 'results')).toBe('new');
    expect(replacePart(page, 'results', 'new')).toBe(page);
  });

  it('is added at the end of a page without it', () => {
    expect(replacePart('# T\n', 'x', 'text')).toBe(
      '# T\n\n<!-- x:begin -->\n\ntext\n\n<!-- x:end -->\n',
    );
    expect(partOf('# T\n', 'x')).toBeUndefined();
  });

  it('may lie in another, whose own words stay', () => {
    const page = '<!-- profile:begin -->\n\nby hand\n\n<!-- profile:end -->\n';
    const once = replaceInnerPart(page, 'profile', 'profile cold', 'a');
    const twice = replaceInnerPart(once, 'profile', 'profile churn', 'b');
    const again = replaceInnerPart(twice, 'profile', 'profile cold', 'c');
    expect(partOf(again, 'profile')).toMatch(/^by hand\n/);
    expect(partOf(again, 'profile cold')).toBe('c');
    expect(partOf(again, 'profile churn')).toBe('b');
  });
});
