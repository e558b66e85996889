import { describe, expect, it } from '@jest/globals';
import { foldProfile, type CpuProfile } from '../../../bench/profile/fold.ts';
import { renderProfile } from '../../../bench/profile/render.ts';

function frame(functionName: string, url = '', lineNumber = 0) {
  return { functionName, url, lineNumber };
}

const FILE = 'file:///p';

/**
 * root ─ a (core/a.ts) ─ b (node_modules/x) ─ a again ─ write (native); read (node:fs); idle; gc. Each
 * sample stands for one millisecond.
 */
const PROFILE: CpuProfile = {
  startTime: 1_000,
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 6, 7, 8] },
    { id: 2, callFrame: frame('a', `${FILE}/core/a.ts`, 9), children: [3] },
    { id: 3, callFrame: frame('', `${FILE}/node_modules/@s/x/lib/i.js`, 0), children: [4] },
    { id: 4, callFrame: frame('a', `${FILE}/core/a.ts`, 9), children: [5] },
    { id: 5, callFrame: frame('write') },
    { id: 6, callFrame: frame('read', 'node:fs', 1) },
    { id: 7, callFrame: frame('(idle)') },
    { id: 8, callFrame: frame('(garbage collector)') },
  ],
  samples: [2, 3, 4, 5, 5, 6, 7, 7, 8],
  timeDeltas: [0, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000],
};

describe('foldProfile', () => {
  it('tells idle time and garbage collection from work', () => {
    // The last sample ends with the profile: nobody knows how long it lasted.
    expect(foldProfile(PROFILE, '/p')).toMatchObject({ totalMs: 8, idleMs: 2, gcMs: 0 });
  });

  it('sums self time by part and by function', () => {
    const { byPart, byFunction } = foldProfile(PROFILE, '/p');
    expect(new Map(byPart)).toEqual(
      new Map([
        ['core', 2],
        ['(native)', 2],
        ['@s/x', 1],
        ['node', 1],
      ]),
    );
    expect(new Map(byFunction)).toEqual(
      new Map([
        ['a core/a.ts:10', 2],
        ['write', 2],
        ['(anonymous) node_modules/@s/x/lib/i.js:1', 1],
        ['read node:fs:2', 1],
      ]),
    );
  });

  it('counts a file once for each sample, however often it is on the stack, and ours alone', () => {
    expect(foldProfile(PROFILE, '/p').byFile).toEqual([['core/a.ts', 5]]);
  });

  it('looks at a window of time alone', () => {
    const { totalMs, byFile } = foldProfile(PROFILE, '/p', { from: 3_000, to: 6_000 });
    expect({ totalMs, byFile }).toEqual({ totalMs: 4, byFile: [['core/a.ts', 3]] });
  });

  it('becomes tables', () => {
    const text = renderProfile('Cold start', foldProfile(PROFILE, '/p'));
    expect(text).toMatch(/^Cold start: 8 ms of the main thread, 6 ms busy \(75 %\), 2 ms idle;/);
    expect(text).toContain('| `core/a.ts` | 5.0 | 83.3 %          |');
  });
});
