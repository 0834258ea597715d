/** Draws lines and views of extensions. */

import type { VNode } from "preact";
import { Markdown } from "./markdown_view.tsx";
import { plainLine, type StyledLine, type StyledSpan, type StyledView } from "./styled.ts";

const GROUNDS = new Set(["selection", "user"]);

export function Line({ line }: { line: StyledLine }): VNode {
  return <>{line.map((span) => <Span span={span} />)}</>;
}

export function Lines({ lines }: { lines: StyledLine[] }): VNode {
  return (
    <div class="styled">
      {lines.map((line) => (
        <div class={line.some((span) => span.fill) ? "row has-fill" : "row"}>{line.length ? <Line line={line} /> : "\u00a0"}</div>
      ))}
    </div>
  );
}

export function View({ view, expanded }: { view: StyledView; expanded: boolean }): VNode {
  const lines = expanded ? (view.expanded.length ? view.expanded : view.lines) : view.lines.length ? view.lines : view.expanded;
  return (
    <div class="view">
      {view.title.length > 0 && <div class="styled view-title"><Line line={view.title} /></div>}
      {view.isMarkdown ? <Markdown text={lines.map(plainLine).join("\n")} /> : <Lines lines={lines} />}
    </div>
  );
}

function Span({ span }: { span: StyledSpan }): VNode {
  const names = [...span.roles.map((role) => `role-${role}`), ...span.attributes.map((each) => `is-${each}`)];
  const style: Record<string, string> = {};
  if (span.fg) style["color"] = colour(span.fg);
  if (span.bg) style["backgroundColor"] = GROUNDS.has(span.bg) ? `var(--${span.bg}-bg)` : colour(span.bg);
  if (span.fill) names.push("fill");
  const text = span.fill ? span.text.repeat(Math.ceil(200 / Math.max(span.text.length, 1))) : span.text;
  if (!span.link) return <span class={names.join(" ")} style={style} aria-hidden={span.fill || undefined}>{text}</span>;
  return (
    <a href={span.link} target="_blank" rel="noopener noreferrer" class={names.join(" ")} style={style}>
      {text}
    </a>
  );
}

function colour(value: string): string {
  return value.startsWith("#") ? value : `var(--role-${value})`;
}
