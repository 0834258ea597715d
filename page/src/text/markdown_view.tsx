/** Draws Markdown: a component per block, so that a block that did not change is not drawn again. */

import { Component, type ComponentChildren, type VNode } from "preact";
import { useRef } from "preact/hooks";
import { CodeBlock } from "../views/code.tsx";
import { decodeEntities, MarkdownReader, type Token, type Tokens } from "./markdown.ts";
import { safeLink, safePicture } from "./visible.ts";

export function Markdown({ text, live = false }: { text: string; live?: boolean }): VNode {
  const reader = useRef<MarkdownReader | undefined>(undefined);
  reader.current ??= new MarkdownReader();
  const blocks = reader.current.read(text, live);
  const last = blocks.length - 1;
  return (
    <div class="markdown">
      {blocks.map((block, at) => (
        <Block key={block.id} token={block.token} live={live && at === last} />
      ))}
    </div>
  );
}

interface BlockProps {
  token: Token;
  live: boolean;
}

class Block extends Component<BlockProps> {
  override shouldComponentUpdate(next: BlockProps): boolean {
    return next.token.raw !== this.props.token.raw || next.live !== this.props.live;
  }

  override render({ token, live }: BlockProps): ComponentChildren {
    return block(token, live);
  }
}

const DEEPEST = 24; // of lists, quotes and emphasis within each other; deeper ones are plain text

function block(token: Token, live = false, depth = 0): ComponentChildren {
  const known = token as Tokens.Generic;
  if (depth > DEEPEST) return <p class="plain">{token.raw}</p>;
  switch (token.type) {
    case "heading": {
      const Tag = `h${Math.min(known["depth"] + 2, 6)}` as "h3";
      return <Tag class={`level-${known["depth"]}`}>{inline(known.tokens)}</Tag>;
    }
    case "paragraph":
      return <p>{inline(known.tokens)}</p>;
    case "code":
      return <CodeBlock code={known["text"]} language={(known["lang"] ?? "").split(/[\s,{:]/)[0] ?? ""} live={live} />;
    case "blockquote":
      return <blockquote>{known.tokens?.map((each) => block(each, false, depth + 1))}</blockquote>;
    case "list":
      return list(token as Tokens.List, depth + 1);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "html":
      return <p>{token.raw}</p>;
    case "text":
      return known.tokens ? <>{inline(known.tokens)}</> : <p class="plain">{decodeEntities(known["text"])}</p>;
    case "space":
    case "def":
      return null;
    default:
      return <p>{token.raw}</p>;
  }
}

function list(token: Tokens.List, depth: number): VNode {
  const items = token.items.map((item) => (
    <li class={item.task ? "task" : undefined}>
      {item.task && <span role="img" aria-label={item.checked ? "done" : "open"}>{item.checked ? "☑ " : "☐ "}</span>}
      {item.tokens.filter((part) => part.type !== "checkbox").map((part) => block(part, false, depth))}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table): VNode {
  const cell = (row: Tokens.TableCell, Tag: "th" | "td") => (
    <Tag class={row.align ? `align-${row.align}` : undefined}>{inline(row.tokens)}</Tag>
  );
  return (
    <div class="table" tabIndex={0} role="region" aria-label="table">
      <table>
        <thead>
          <tr>{token.header.map((each) => cell(each, "th"))}</tr>
        </thead>
        <tbody>
          {token.rows.map((row) => (
            <tr>{row.map((each) => cell(each, "td"))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined, depth = 0): ComponentChildren {
  return tokens?.map((token) => piece(token, depth + 1));
}

function piece(token: Token, depth: number): ComponentChildren {
  const known = token as Tokens.Generic;
  if (depth > DEEPEST) return token.raw;
  switch (token.type) {
    case "strong":
      return <strong>{inline(known.tokens, depth)}</strong>;
    case "em":
      return <em>{inline(known.tokens, depth)}</em>;
    case "del":
      return <del>{inline(known.tokens, depth)}</del>;
    case "codespan":
      return <code>{known["text"]}</code>;
    case "br":
      return <br />;
    case "link":
      return <SafeLink href={known["href"]}>{inline(known.tokens, depth)}</SafeLink>;
    case "image":
      return <Picture href={known["href"]} alt={known["text"]} />;
    case "checkbox":
      return null;
    case "text":
    case "escape":
      return known.tokens ? inline(known.tokens, depth) : decodeEntities(known["text"]);
    default:
      return token.raw;
  }
}

/** Other schemes than those that are safe stay text. */
export function SafeLink({ href, children }: { href: string; children: ComponentChildren }): VNode {
  const address = safeLink(href);
  if (!address) return <span>{children}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" title={address}>
      {children}
    </a>
  );
}

/** A picture whose data is in the text; one of another place is a link, and nothing is fetched. */
function Picture({ href, alt }: { href: string; alt: string }): VNode {
  const source = safePicture(href);
  if (source) return <img src={source} alt={alt || "picture"} />;
  return <SafeLink href={href}>{`[picture: ${alt || href}]`}</SafeLink>;
}
