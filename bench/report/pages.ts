import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCENARIOS, type BenchOptions, type ProfileName } from '../options.ts';
import { replaceInnerPart, replacePart } from './page.ts';

const DOCS = join(import.meta.dirname, '../../docs');

/** What is written into a page. */
export type Written = 'results' | 'growth' | 'profile';

/** The usual page of each, and the part of it that is filled. */
const PAGES = {
  results: { file: 'benchmarks.md', part: 'results' },
  growth: { file: 'scaling.md', part: 'table' },
  profile: { file: 'benchmarks.md', part: 'profile' },
} as const;

/** Puts text into its page, if this call of the benchmark writes one; gives the page's path. */
export function writePage(
  options: BenchOptions,
  what: Written,
  text: string,
  profile?: ProfileName,
): string | undefined {
  const path = pathFor(options, what);
  if (path === undefined) return undefined;
  const page = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const { part } = PAGES[what];
  const written =
    profile === undefined
      ? replacePart(page, part, text)
      : replaceInnerPart(page, part, `profile ${profile}`, text);
  writeFileSync(path, written);
  return path;
}

/** A page shows one sitting: what ran in part goes into none unless its path is given. */
function pathFor(options: BenchOptions, what: Written): string | undefined {
  if (options.out !== undefined) return options.out === '-' ? undefined : options.out;
  if (options.quick) return undefined;
  const all = SCENARIOS.filter((name) => name !== 'growth');
  if (what === 'results' && all.some((name) => !options.scenarios.includes(name))) return undefined;
  if (what === 'growth' && options.services !== undefined) return undefined;
  return join(DOCS, PAGES[what].file);
}
