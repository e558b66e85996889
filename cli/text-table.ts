/** Columns aligned with two spaces between, as kubectl prints them; the last one is not padded. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) =>
    Math.max(...all.map((row) => displayWidth(row[column] ?? ''))),
  );
  return all.map((row) => lineOf(row, widths)).join('\n');
}

function lineOf(row: readonly string[], widths: readonly number[]): string {
  const cells = widths.map((width, column) => {
    const cell = row[column] ?? '';
    return cell + ' '.repeat(width - displayWidth(cell));
  });
  return cells.join('  ').trimEnd();
}

function displayWidth(text: string): number {
  return Array.from(text).length;
}

/** `3 s`, `4 min`, `2 h`: as coarse as a glance needs. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}

/** `1 slice`, `2 slices`. */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}
