import { expect, test } from '@jest/globals';
import { ContentNumber } from '../../../watcher/clusters/content-number.ts';

function numbers(accepted: number, last: number): ContentNumber {
  let given = last;
  return new ContentNumber(accepted, () => Promise.resolve((given += 1)));
}

test('a content gets a number above what serves, if that served before it was known', async () => {
  const number = numbers(9, 10);
  await number.renew();
  expect(await number.wanted(9)).toBe(11);
  expect(number.aim(10)).toBe(true);
  expect(await number.wanted(11)).toBe(12);
  expect(await number.wanted(12)).toBe(12);
});

test('a content whose number is above what serves is watched under it', async () => {
  const number = numbers(9, 10);
  await number.renew();
  expect(number.aim(10)).toBe(true);
  expect(number.aim(10)).toBe(false);
  expect(await number.wanted(9)).toBe(10);
  // Another owner took it for this content.
  expect(await number.wanted(11)).toBe(11);
});
