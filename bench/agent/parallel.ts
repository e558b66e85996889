/** Calls `work` for 0, 1, … `count - 1`, so many at a time; the first failure ends all and is thrown. */
export async function inParallel(
  count: number,
  atATime: number,
  work: (at: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const writer = async (): Promise<void> => {
    while (next < count && !failed) {
      const at = next;
      next += 1;
      try {
        await work(at);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atATime, count) }, writer));
}
