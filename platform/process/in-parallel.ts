/** Runs all, at most `limit` at a time, in their order. Rejects with the first failure, which ends its lane. */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
}
