import { styleText } from 'node:util';

/** Tells the story of the demo: readable on a terminal, and in a log without any colour. */
export interface Narrator {
  /** A part begins. */
  title(text: string): void;
  /** What is about to be done, and why. */
  step(text: string): void;
  /** What a user would type. */
  command(line: string): void;
  /** What came out of it; of more than `most` lines only the first are shown. */
  output(text: string, most?: number): void;
  /** What was to be seen. */
  result(text: string): void;
  /** Anything else. */
  note(text: string): void;
}

/** A text format that `styleText` knows. */
type Style = 'bold' | 'cyan' | 'dim' | 'green';

const MOST_LINES = 60;

/** Writes the story line by line. `colour`: only where a person sits in front of it. */
export function createNarrator(write: (line: string) => void, colour: boolean): Narrator {
  const styled = (style: Style, text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  let steps = 0;
  return {
    title: (text) => {
      write('');
      write(styled('bold', `=== ${text} ===`));
    },
    step: (text) => {
      steps += 1;
      write('');
      write(styled('bold', `${steps}. ${text}`));
    },
    command: (line) => write(`   ${styled('cyan', `$ ${line}`)}`),
    output: (text, most = MOST_LINES) => {
      const lines = text.trimEnd().split('\n');
      for (const line of lines.slice(0, most))
        write(line === '' ? '' : styled('dim', `     ${line}`));
      if (lines.length > most) write(styled('dim', `     … ${lines.length - most} more lines`));
    },
    result: (text) => write(`   ${styled('green', `-> ${text}`)}`),
    note: (text) => write(`   ${text}`),
  };
}
