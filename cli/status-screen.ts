/** A terminal, as far as a live page needs it. */
export interface Terminal {
  readonly size: { readonly columns: number; readonly rows: number };
  write(text: string): void;
  /** Calls `listener` whenever the size has changed. */
  onResize(listener: () => void): void;
  /** Calls `listener` for each key that is pressed, with its character. */
  onKey(listener: (key: string) => void): void;
  /** Gives the keyboard back; no listener is called any more. */
  close(): void;
}

/** A page that is drawn anew in place. */
export interface Screen {
  show(text: string): void;
  /** Gives the terminal back as it was, with its cursor; once is enough. */
  close(): void;
}

const ESC = '\u001b[';
/** The alternate screen, so that what was there before comes back; and no cursor that jumps about. */
const ENTER = `${ESC}?1049h${ESC}?25l`;
const LEAVE = `${ESC}?25h${ESC}?1049l`;
const HOME = `${ESC}H`;
const CLEAR_LINE = `${ESC}K`;
const CLEAR_BELOW = `${ESC}J`;
const CTRL_C = '\u0003';

/** Takes the terminal over. `onQuit` is called at q and at Ctrl-C, which is no signal while keys are read. */
export function openScreen(terminal: Terminal, onQuit: () => void): Screen {
  let shown = '';
  let closed = false;
  const draw = (): void => {
    if (!closed) terminal.write(HOME + frame(shown, terminal.size));
  };
  terminal.write(ENTER);
  terminal.onResize(draw);
  terminal.onKey((key) => {
    if (key === 'q' || key === 'Q' || key === CTRL_C) onQuit();
  });
  return {
    show: (text) => {
      shown = text;
      draw();
    },
    close: () => {
      if (closed) return;
      closed = true;
      terminal.write(LEAVE);
      terminal.close();
    },
  };
}

/**
 * The text as a screen of this size shows it from its upper left corner: lines are cut, not wrapped, and the
 * last row says how many are missing. Each line is drawn over the old one, so nothing flickers.
 */
export function frame(text: string, { columns, rows }: Terminal['size']): string {
  const lines = text.split('\n');
  const missing = lines.length - rows;
  const seen = missing <= 0 ? lines : [...lines.slice(0, rows - 1), `… ${missing + 1} more lines`];
  const drawn = seen.map((line) => cut(harmless(line), columns) + CLEAR_LINE);
  return drawn.join('\r\n') + CLEAR_BELOW;
}

/** What others wrote into Redis must not drive the terminal of who looks at it. */
function harmless(line: string): string {
  return line.replace(/\p{Cc}/gu, '\u{fffd}');
}

function cut(line: string, columns: number): string {
  const characters = Array.from(line);
  if (characters.length <= columns) return line;
  return `${characters.slice(0, columns - 1).join('')}…`;
}
