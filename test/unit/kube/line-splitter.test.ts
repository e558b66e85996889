import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LineSplitter } from '../../../platform/kube/line-splitter.ts';

test('gives the same lines however the bytes are cut', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', '')));
  const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 });
  fc.assert(
    fc.property(texts, cuts, (lines, sizes) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const splitter = new LineSplitter();
      const found: string[] = [];
      let at = 0;
      for (let n = 0; at < bytes.length; n += 1) {
        const size = sizes[n % sizes.length] ?? 1;
        found.push(...(splitter.split(bytes.subarray(at, at + size)) ?? []));
        at += size;
      }
      expect(found).toEqual(lines);
      expect(splitter.pending).toBe(0);
    }),
  );
});

test('gives up a line that never ends', () => {
  const splitter = new LineSplitter();
  const mebibyte = Buffer.alloc(1024 * 1024, 'x');
  const answers = Array.from({ length: 17 }, () => splitter.split(mebibyte));
  expect(answers.slice(0, 16).every((lines) => lines?.length === 0)).toBe(true);
  expect(answers[16]).toBeUndefined();
});
