/** What a view stores of an object, as its four lines. */
export interface RecordLines {
  readonly rv: string;
  readonly uid: string;
  /** What scripts look the record up by. */
  readonly index: string;
  readonly body: string;
}

/** Takes a stored record apart; JSON text never holds a raw line feed, and neither do the others. */
export function splitRecord(text: string): RecordLines {
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  const third = text.indexOf('\n', second + 1);
  return {
    rv: text.slice(0, first),
    uid: text.slice(first + 1, second),
    index: text.slice(second + 1, third),
    body: text.slice(third + 1),
  };
}
