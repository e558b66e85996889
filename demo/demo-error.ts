/** What the demo was to show did not come true; the message is one sentence for a person. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}

/** Nothing that the demo waits for takes longer than a second or two; ms. */
export const LIMIT_MS = 20_000;
