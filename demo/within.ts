import { DemoError } from './demo-error.ts';

/**
 * The promise, given up after `limitMs`.
 *
 * @throws {DemoError} that says `otherwise` and how long was waited.
 */
export async function within<T>(
  promise: Promise<T>,
  limitMs: number,
  otherwise: string | (() => string),
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const what = typeof otherwise === 'string' ? otherwise : otherwise();
    late.reject(new DemoError(`after ${limitMs / 1000} s ${what}`));
  }, limitMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
