import { parser } from '@prometheus-io/lezer-promql';
import type { SyntaxNode } from '@lezer/common';

/** One condition on a label, as in `code=~"5.."`. */
export interface Matcher {
  readonly label: string;
  readonly op: string;
  readonly value: string;
}

/** What an expression asks Prometheus for. */
export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

/** What an expression names. */
export interface Named {
  readonly selectors: readonly Selector[];
  /** Labels of `by (…)`, `on (…)` and the like. */
  readonly grouping: readonly string[];
}

/** One sample as a process exports it. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Reads PromQL with the parser of Prometheus' own user interface.
 *
 * @throws Error for what is no PromQL, with the place.
 */
export function readPromql(expr: string): Named {
  const selectors: Selector[] = [];
  const grouping: string[] = [];
  const textOf = ({ from, to }: { readonly from: number; readonly to: number }): string =>
    expr.slice(from, to);
  parser.parse(expr).iterate({
    enter: ({ node }) => {
      if (node.type.isError) {
        throw new Error(`no PromQL: ${expr.slice(0, node.from)} >>> ${expr.slice(node.from)}`);
      }
      if (node.name === 'VectorSelector') selectors.push(selectorOf(node, textOf));
      if (node.name === 'GroupingLabels') grouping.push(...all(node, 'LabelName').map(textOf));
    },
  });
  return { selectors, grouping };
}

function selectorOf(node: SyntaxNode, textOf: (node: SyntaxNode) => string): Selector {
  const metric = node.getChild('Identifier');
  const matchers = all(node, 'UnquotedLabelMatcher').map((matcher): Matcher => {
    const [label, op, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((name) => {
      const part = matcher.getChild(name);
      return part === null ? '' : textOf(part);
    });
    return { label: label ?? '', op: op ?? '', value: (value ?? '').slice(1, -1) };
  });
  return { metric: metric === null ? '' : textOf(metric), matchers };
}

function all(node: SyntaxNode, name: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  node.cursor().iterate((each) => {
    if (each.name === name) found.push(each.node);
  });
  return found;
}

/** Whether a selector finds a series; labels that only Prometheus puts on targets match anything. */
export function selects(
  { metric, matchers }: Selector,
  { name, labels }: Series,
  ofTargets: readonly string[],
): boolean {
  if (metric !== name) return false;
  return matchers.every(({ label, op, value }) => {
    if (ofTargets.includes(label)) return true;
    const found = labels[label] ?? '';
    const equal = op.endsWith('~') ? new RegExp(`^(?:${value})$`).test(found) : found === value;
    return label in labels && equal !== op.startsWith('!');
  });
}

/** Prometheus' text format, as series. */
export function readSeries(text: string): Series[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', pairs = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const labels = [...pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
      return {
        name,
        labels: Object.fromEntries(labels.map(([, label = '', text = '']) => [label, text])),
        value: Number(value),
      };
    });
}
