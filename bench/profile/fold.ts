import { fileURLToPath } from 'node:url';
import { relative } from 'node:path';

/** A `.cpuprofile` as V8 writes it; times in microseconds of the monotonic clock. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly children?: readonly number[];
}

/** Milliseconds by name, the most first. */
export type Milliseconds = readonly (readonly [string, number])[];

/** Where the time of one thread went. */
export interface FoldedProfile {
  /** The length of what was looked at. */
  readonly totalMs: number;
  readonly idleMs: number;
  readonly gcMs: number;
  /** Time in native code that V8 knows no function for. */
  readonly programMs: number;
  /** By package or part of Tether: the function that ran. */
  readonly byPart: Milliseconds;
  /** By our files: it ran, or something ran that it had called. */
  readonly byFile: Milliseconds;
  /** By function: the function itself. */
  readonly byFunction: Milliseconds;
}

const US_PER_MS = 1000;
const SPECIAL = new Map([
  ['(idle)', 'idle'],
  ['(garbage collector)', 'gc'],
  ['(program)', 'program'],
]);

/**
 * Sums up the samples between two moments (microseconds of the monotonic clock, both optional).
 *
 * @param root the folder of the project: what is below it is ours, by its first folders.
 */
export function foldProfile(
  profile: CpuProfile,
  root: string,
  window: { readonly from?: number; readonly to?: number } = {},
): FoldedProfile {
  const self = selfTimes(profile, window);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const sums = { idle: 0, gc: 0, program: 0 } as Record<string, number>;
  const parts = new Map<string, number>();
  const functions = new Map<string, number>();
  let totalUs = 0;
  for (const [id, us] of self) {
    totalUs += us;
    const frame = nodes.get(id)?.callFrame;
    if (frame === undefined) continue;
    const special = SPECIAL.get(frame.functionName);
    if (special !== undefined) {
      sums[special] = (sums[special] ?? 0) + us;
      continue;
    }
    const place = placeOf(frame.url, root);
    add(parts, partOf(place), us);
    const name = frame.functionName === '' ? '(anonymous)' : frame.functionName;
    add(functions, `${name} ${place}${place === '' ? '' : `:${frame.lineNumber + 1}`}`.trim(), us);
  }
  return {
    totalMs: totalUs / US_PER_MS,
    idleMs: (sums['idle'] ?? 0) / US_PER_MS,
    gcMs: (sums['gc'] ?? 0) / US_PER_MS,
    programMs: (sums['program'] ?? 0) / US_PER_MS,
    byPart: sorted(parts),
    byFile: sorted(inclusiveByFile(profile, self, root)),
    byFunction: sorted(functions),
  };
}

/** Microseconds that each node itself ran. A sample stands for the time until the next one. */
function selfTimes(
  { startTime, samples, timeDeltas }: CpuProfile,
  window: { readonly from?: number; readonly to?: number },
): ReadonlyMap<number, number> {
  const self = new Map<number, number>();
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index] ?? 0;
    if (at < (window.from ?? -Infinity) || at > (window.to ?? Infinity)) continue;
    self.set(id, (self.get(id) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? 0));
  }
  return self;
}

/** A file counts a sample once, however often it is on the stack. */
function inclusiveByFile(
  { nodes }: CpuProfile,
  self: ReadonlyMap<number, number>,
  root: string,
): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const sums = new Map<string, number>();
  const stack = new Map<string, number>();
  const walk = (node: ProfileNode): number => {
    const place = placeOf(node.callFrame.url, root);
    const file = isOurs(place) ? place : '';
    stack.set(file, (stack.get(file) ?? 0) + 1);
    let us = self.get(node.id) ?? 0;
    for (const child of node.children ?? []) {
      const below = byId.get(child);
      if (below !== undefined) us += walk(below);
    }
    const depth = (stack.get(file) ?? 1) - 1;
    stack.set(file, depth);
    if (file !== '' && depth === 0) add(sums, file, us);
    return us;
  };
  const [first] = nodes;
  if (first !== undefined) walk(first);
  return sums;
}

/** `core/codec.ts`, `node_modules/bullmq/dist/…`, `node:net`; empty for native code. */
function placeOf(url: string, root: string): string {
  return url.startsWith('file://') ? relative(root, fileURLToPath(url)) : url;
}

function isOurs(place: string): boolean {
  return place !== '' && !/^(\w+:|node_modules\/|\.\.)/.test(place);
}

/** The package, `node` itself, `wasm`, or the folder of ours that holds the file. */
function partOf(place: string): string {
  if (place === '') return '(native)';
  const scheme = /^(\w+):/.exec(place)?.[1];
  if (scheme !== undefined) return scheme;
  const inPackage = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(place);
  if (inPackage?.[1] !== undefined) return inPackage[1];
  return place.split('/').slice(0, -1).slice(0, 2).join('/') || place;
}

function add(sums: Map<string, number>, name: string, us: number): void {
  sums.set(name, (sums.get(name) ?? 0) + us);
}

function sorted(sums: ReadonlyMap<string, number>): Milliseconds {
  return [...sums]
    .filter(([, us]) => us > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, us]) => [name, us / US_PER_MS] as const);
}
