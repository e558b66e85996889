import { format, table, wrap } from '../report/markdown.ts';
import type { FoldedProfile, Milliseconds } from './fold.ts';

const MOST = { parts: 16, files: 20, functions: 25 };

/** What the profiler found, as Markdown. */
export function renderProfile(title: string, folded: FoldedProfile): string {
  const { totalMs, idleMs, gcMs, programMs } = folded;
  const busy = totalMs - idleMs;
  const ms = (value: number): string => `${format(value, 0)} ms`;
  const whole =
    `${title}: ${ms(totalMs)} of the main thread, ${ms(busy)} busy (${format((100 * busy) / totalMs, 0)} %), ` +
    `${ms(idleMs)} idle; garbage collection ${ms(gcMs)}, native code outside of functions ${ms(programMs)}.`;
  return [
    wrap(whole),
    'By package or part, the function itself:',
    rows('part', folded.byPart, MOST.parts, busy),
    'By our files, with all that they call until they first wait:',
    rows('file', folded.byFile, MOST.files, busy),
    'By function, the function itself:',
    rows('function', folded.byFunction, MOST.functions, busy),
  ].join('\n\n');
}

function rows(head: string, found: Milliseconds, most: number, busy: number): string {
  const lines = found
    .slice(0, most)
    .map(([name, ms]) => [code(name), format(ms, 1), `${format((100 * ms) / busy, 1)} %`]);
  return table([[head, 'ms', 'of what is busy'], ...lines]);
}

/** A vertical bar would end a cell. */
function code(name: string): string {
  return `\`${name.replaceAll('|', '\\|')}\``;
}
