/** Characters of somebody's text that a message repeats. */
export const QUOTED = 80;

/** Somebody's text as a message shows it: in quotes, without control characters, cut after 80 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text);
}
