/**
 * Puts `text` between `<!-- NAME:begin -->` and `<!-- NAME:end -->` and leaves the rest of the page as
 * it is. A page without the markers gets them at its end.
 */
export function replacePart(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const part = `${begin}\n\n${text.trim()}\n\n${end}`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) return `${page.trimEnd()}\n\n${part}\n`.trimStart();
  return page.slice(0, from) + part + page.slice(to + end.length);
}

/** What is between the markers; undefined without them. */
export function partOf(page: string, name: string): string | undefined {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  return from < 0 || to < from ? undefined : page.slice(from + begin.length, to).trim();
}

/** The same for a part inside of another, which is written by hand for the rest. */
export function replaceInnerPart(page: string, outer: string, name: string, text: string): string {
  return replacePart(page, outer, replacePart(partOf(page, outer) ?? '', name, text));
}
