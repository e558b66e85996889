import { renderBars, renderSection } from './markdown.ts';
import { replacePartOfFile } from './page.ts';
import type { Section } from './section.ts';

/** The name of the part of the page that a sitting fills. */
const PART = 'results';

/** All that a sitting found out, as Markdown. */
export function renderResults(machine: string, sections: readonly Section[]): string {
  const bars = sections.flatMap((section) => section.bars);
  const parts = [machine, ...(bars.length === 0 ? [] : [`### At a glance`, renderBars(bars)])];
  return [...parts, ...sections.map(renderSection)].join('\n\n');
}

/** Puts the results into the page; what is written by hand stays. */
export function writeResults(path: string, results: string): void {
  replacePartOfFile(path, PART, results);
}
