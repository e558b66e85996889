import { expect, test } from '@jest/globals';
import { parseWait } from '../../../trigger/wait.ts';

test.each([
  ['', null],
  ['wait=false', null],
  ['wait=true', 30_000],
  ['wait=true&timeout=0.5', 500],
  ['timeout=300&wait=true', 300_000],
])('%j is %j ms', (query, ms) => {
  expect(parseWait(query)).toBe(ms);
});

test.each([
  ['wait', /^wait="": expected true or false$/],
  ['wait=1', /^wait="1": expected true or false$/],
  ['wait=true&wait=true', /^parameter "wait" is given twice$/],
  ['wait=true&timeout=10s', /^timeout="10s": expected seconds from 0.1 to 300$/],
  ['wait=true&timeout=0', /expected seconds/],
  ['wait=true&timeout=301', /expected seconds/],
  ['wait=true&timeout=', /expected seconds/],
  ['timeout=5', /^timeout is for wait=true$/],
  ['Wait=true', /^unknown parameter "Wait": there is wait, timeout$/],
])('%j is refused', (query, message) => {
  expect(parseWait(query)).toEqual(expect.stringMatching(message));
});
