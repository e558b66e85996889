import { renderBars, renderSection } from './markdown.ts';
import type { Section } from './section.ts';

/** All that a sitting found out, as Markdown. */
export function renderResults(machine: string, sections: readonly Section[]): string {
  const bars = sections.flatMap((section) => section.bars);
  const parts = [machine, ...(bars.length === 0 ? [] : [`### At a glance`, renderBars(bars)])];
  return [...parts, ...sections.map(renderSection)].join('\n\n');
}
