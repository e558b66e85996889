const NEWLINE = 0x0a;
/** etcd refuses objects above 1.5 MiB; as JSON, with managed fields, one is still far below this. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Cuts a byte stream into lines. It works on bytes, so that a character cut by a chunk's end stays
 * whole, and holds the pieces of a long line without copying them for each chunk.
 */
export class LineSplitter {
  private pieces: Buffer[] = [];
  private held = 0;

  /** Bytes of the line that has not ended yet. */
  get pending(): number {
    return this.held;
  }

  /** The lines that this chunk completes; undefined when a line grows past 16 MiB. */
  split(chunk: Buffer): string[] | undefined {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(this.take(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) {
      this.pieces.push(chunk.subarray(start));
      this.held += chunk.length - start;
    }
    return this.held > MAX_LINE_BYTES ? undefined : lines;
  }

  private take(end: Buffer): string {
    if (this.held === 0) return end.toString('utf8');
    const line = Buffer.concat([...this.pieces, end]).toString('utf8');
    this.pieces = [];
    this.held = 0;
    return line;
  }
}
