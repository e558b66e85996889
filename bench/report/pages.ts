import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isLinked,
  isOnDemand,
  LINKED_SCENARIOS,
  SCENARIOS,
  type BenchOptions,
  type ProfileName,
  type ScenarioName,
} from '../options.ts';
import { replaceInnerPart, replacePart } from './page.ts';

const DOCS = join(import.meta.dirname, '../../docs');

/** What is written into a page. */
export type Written = 'results' | 'clusters' | 'growth' | 'outage' | 'workers' | 'profile';

/** The usual page of each, and the part of it that is filled. */
const PAGES = {
  results: { file: 'benchmarks.md', part: 'results' },
  clusters: { file: 'benchmarks.md', part: 'clusters' },
  growth: { file: 'scaling.md', part: 'table' },
  outage: { file: 'failure-modes.md', part: 'outage' },
  workers: { file: 'scaling.md', part: 'workers' },
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
  const lacks = (name: ScenarioName): boolean => !options.scenarios.includes(name);
  const local = SCENARIOS.filter((name) => !isOnDemand(name) && !isLinked(name));
  if (what === 'results' && local.some(lacks)) return undefined;
  if (what === 'clusters' && LINKED_SCENARIOS.some(lacks)) return undefined;
  if (what === 'growth' && options.services !== undefined) return undefined;
  return join(DOCS, PAGES[what].file);
}
