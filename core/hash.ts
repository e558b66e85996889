import { hash } from 'node:crypto';

/** The first `length` hex digits (at most 64) of the SHA-256 of a text: stable names from long keys. */
export function shortHash(text: string, length: number): string {
  return hash('sha256', text, 'hex').slice(0, length);
}
