import { spread, type Spread } from '../statistics.ts';
import type { Bar, Column, Row, Section } from './section.ts';

const NONE = '–';

/** A number with so many places after the point, and commas between thousands. */
export function format(value: number, digits: number): string {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en-US', options);
}

/** `8.1 (7.9–8.4)`: the median, and the extremes where they differ from it as printed. */
export function formatSpread(found: Spread | undefined, digits: number): string {
  if (found === undefined) return NONE;
  const [middle, low, high] = [found.median, found.min, found.max].map((it) => format(it, digits));
  return low === high ? `${middle}` : `${middle} (${low}–${high})`;
}

/** A table in Markdown, its columns padded as prettier does. */
export function table(rows: readonly (readonly string[])[]): string {
  const [head = []] = rows;
  const widths = head.map((_, at) => Math.max(3, ...rows.map((row) => width(row[at] ?? ''))));
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((most, at) => padded(cells[at] ?? '', most)).join(' | ')} |`;
  const rule = `| ${widths.map((most) => '-'.repeat(most)).join(' | ')} |`;
  return [line(head), rule, ...rows.slice(1).map(line)].join('\n');
}

/** One scenario: heading, what was done, table, notes. */
export function renderSection(section: Section): string {
  const { title, intro, rows, columns, ratio, notes } = section;
  const head = ['', ...columns.map((column) => column.title), ...(ratio ? ['ratio'] : [])];
  const body = rows
    .filter(({ id }) => columns.some((column) => spreadOf(column, id) !== undefined))
    .map((row) => renderRow(row, columns, ratio));
  const list = notes.map((note) => wrap(`- ${note}`, '  ')).join('\n');
  const parts = [`### ${title}`, wrap(intro), table([head, ...body]), list];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The table of what was to be reached. */
export function renderBars(bars: readonly Bar[]): string {
  const rows = bars.map(({ what, bound, measured, met }) => [
    what,
    bound,
    measured,
    met ? 'yes' : '**no**',
  ]);
  return table([['what', 'bar', 'measured', 'met'], ...rows]);
}

/** Median and extremes of one row in one column. */
export function spreadOf(column: Column | undefined, id: string): Spread | undefined {
  return spread((column?.runs ?? []).map((figures) => figures[id]));
}

function renderRow(row: Row, columns: readonly Column[], ratio: boolean): string[] {
  const spreads = columns.map((column) => spreadOf(column, row.id));
  const cells = spreads.map((found) => formatSpread(found, row.digits));
  const [first, second] = spreads;
  const divided =
    first === undefined || second === undefined || second.median === 0
      ? ''
      : format(first.median / second.median, 2);
  return [row.label, ...cells, ...(ratio ? [divided] : [])];
}

const LINE = 108;

/** Breaks a paragraph into lines, at spaces; `indent` begins every line but the first. */
export function wrap(text: string, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > LINE) {
      lines.push(line);
      line = indent + word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}

/** In characters, not in UTF-16 units. */
function width(text: string): number {
  return Array.from(text).length;
}

function padded(text: string, most: number): string {
  return text + ' '.repeat(Math.max(0, most - width(text)));
}
