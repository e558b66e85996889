import type { ReadStream, WriteStream } from 'node:tty';
import type { Terminal } from './status-screen.ts';

/** Where a terminal does not know its size. */
const USUAL = { columns: 80, rows: 24 } as const;

/** The terminal of this process; null where its output goes elsewhere. Keys are read if they come from one. */
export function openTerminal(
  output: WriteStream = process.stdout,
  input: ReadStream = process.stdin,
): Terminal | null {
  if (!output.isTTY) return null;
  const closing: (() => void)[] = [];
  return {
    get size() {
      return { columns: output.columns || USUAL.columns, rows: output.rows || USUAL.rows };
    },
    write: (text) => void output.write(text),
    onResize: (listener) => {
      output.on('resize', listener);
      closing.push(() => output.off('resize', listener));
    },
    onKey: (listener) => {
      if (!input.isTTY) return;
      const onData = (keys: Buffer): void => Array.from(keys.toString()).forEach(listener);
      input.setRawMode(true).on('data', onData).resume();
      closing.push(() => input.off('data', onData).setRawMode(false).pause());
    },
    close: () => {
      for (const undo of closing.splice(0)) undo();
    },
  };
}
