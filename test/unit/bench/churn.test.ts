import { describe, expect, it } from '@jest/globals';
import { FlipBook } from '../../../bench/agent/churn.ts';

describe('FlipBook', () => {
  it('times each flip from its making to the first sight of it', () => {
    const book = new FlipBook();
    book.made('a', 100);
    book.made('b', 110);
    book.seen('b', 118);
    book.seen('a', 120);
    book.seen('a', 500);
    expect(book.latencies).toEqual([8, 20]);
    expect(book.pending).toBe(0);
  });

  it('passes over what was never made, and keeps what was never seen', () => {
    const book = new FlipBook();
    book.made('a', 100);
    book.seen('other', 101);
    expect(book).toMatchObject({ latencies: [], pending: 1 });
  });

  it('knows the longest time without a sight, the one before the first included', () => {
    const book = new FlipBook();
    for (const what of ['a', 'b', 'c']) book.made(what, 100);
    book.seen('a', 130);
    book.seen('b', 190);
    book.seen('c', 200);
    expect(book.longestSilence(100)).toBe(60);
    expect(book.longestSilence(50)).toBe(80);
    expect(new FlipBook().longestSilence(0)).toBe(0);
  });
});
