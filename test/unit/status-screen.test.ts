import { describe, expect, it } from '@jest/globals';
import { frame, openScreen, type Terminal } from '../../cli/status-screen.ts';

const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

const lines = (text: string, columns: number, rows: number): string[] =>
  frame(text, { columns, rows })
    .replace(CLEAR_BELOW, '')
    .split('\r\n')
    .map((line) => line.replace(CLEAR_LINE, ''));

describe('a frame', () => {
  it('clears what is left of the one before', () => {
    expect(frame('a\nb', { columns: 10, rows: 5 })).toBe('a\u001b[K\r\nb\u001b[K\u001b[J');
  });

  it('cuts lines that are too long, and counts characters, not bytes', () => {
    expect(lines('äöüß\nabcdef', 4, 5)).toEqual(['äöüß', 'abc…']);
  });

  it('says how many lines are missing', () => {
    expect(lines('1\n2\n3\n4\n5', 20, 3)).toEqual(['1', '2', '… 3 more lines']);
    expect(lines('1\n2\n3', 20, 3)).toEqual(['1', '2', '3']);
  });

  it('lets nothing that others wrote drive the terminal', () => {
    expect(lines('a\u001b[2Jb\u009bc', 20, 3)).toEqual(['a\u{fffd}[2Jb\u{fffd}c']);
  });
});

/** A terminal that remembers; a real one is in test/integration/status-watch.test.ts. */
function scripted(): Terminal & {
  written: string;
  resized: () => void;
  press: (key: string) => void;
} {
  const size = { columns: 10, rows: 3 };
  const terminal = {
    size,
    written: '',
    resized: () => undefined as void,
    press: (_key: string) => undefined as void,
    write: (text: string) => void (terminal.written += text),
    onResize: (listener: () => void) => void (terminal.resized = listener),
    onKey: (listener: (key: string) => void) => void (terminal.press = listener),
    close: () => undefined,
  };
  return terminal;
}

describe('a screen', () => {
  it('shows the last text again when the size changes', () => {
    const terminal = scripted();
    const screen = openScreen(terminal, () => undefined);
    screen.show('0123456789');
    terminal.written = '';
    Object.assign(terminal.size, { columns: 5 });
    terminal.resized();
    expect(terminal.written).toContain('0123…');
    screen.close();
  });

  it('draws no more once it is closed, and gives the terminal back once', () => {
    const terminal = scripted();
    const screen = openScreen(terminal, () => undefined);
    screen.close();
    expect(terminal.written.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    const { length } = terminal.written;
    screen.show('late');
    terminal.resized();
    screen.close();
    expect(terminal.written).toHaveLength(length);
  });

  it('is quit by q and by Ctrl-C, and by nothing else', () => {
    let quits = 0;
    const terminal = scripted();
    openScreen(terminal, () => void (quits += 1));
    for (const key of ['x', 'q', 'Q', '\u0003', '\n']) terminal.press(key);
    expect(quits).toBe(3);
  });
});
