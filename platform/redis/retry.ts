const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 1000;

/** Milliseconds before the n-th attempt in a row (from 1): doubling from 50 ms to 1 s, up to half of it jitter. */
export function retryDelay(attempt: number): number {
  const nominal = Math.min(RETRY_MIN_MS * 2 ** Math.min(attempt, 10), RETRY_MAX_MS);
  return nominal * (0.5 + Math.random() / 2);
}
