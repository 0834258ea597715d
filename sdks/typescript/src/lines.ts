// Lines, spans and views: what zot draws for an extension, in the user's theme and cut to the width.

/** A piece of a line. `style` is words such as `accent bold`, `fg` and `bg` are roles or `#rrggbb`; with `fill` the text
 * repeats until the row is full. */
export type Span = string | { text: string; style?: string; fg?: string; bg?: string; link?: string; fill?: boolean };
export type Line = string | readonly Span[];

/** How a result is drawn: `lines` folded, `expanded` in full. With `markdown` the lines are Markdown. */
export interface View {
  title?: Line;
  lines: readonly Line[];
  expanded?: readonly Line[];
  markdown?: boolean;
}

/** A line of texts, pairs of text and style, and spans: `line("on ", ["staging", "accent"])`. */
export function line(...parts: (Span | readonly [text: string, style: string])[]): Span[] {
  return parts.map((part) => (Array.isArray(part) ? { text: part[0], style: part[1] } : (part as Span)));
}
