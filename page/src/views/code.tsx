/** A block of code with its language and a button that copies it. */

import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { highlight, language } from "../text/highlight.ts";
import { announce } from "../state/announcer.ts";

const LIVE_MOST = 6_000; // characters that are coloured while they still arrive

export function CodeBlock({ code, language: name, live }: { code: string; language: string; live?: boolean }): VNode {
  return (
    <figure class="code">
      <figcaption>
        <span>{language(name) || name.slice(0, 30) || "text"}</span>
        <CopyButton text={code} label="Copy code" />
      </figcaption>
      <pre tabIndex={0}>
        <code>{live && code.length > LIVE_MOST ? code : <Coloured code={code} language={name} />}</code>
      </pre>
    </figure>
  );
}

export function Coloured({ code, language: name }: { code: string; language: string }): VNode {
  return <>{highlight(code, name).map((span) => (span.scope ? <span class={`hl-${span.scope}`}>{span.text}</span> : span.text))}</>;
}

export function CopyButton({ text, label }: { text: string; label: string }): VNode {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(text);
    setDone(true);
    announce("copied");
    setTimeout(() => setDone(false), 1_500);
  };
  return (
    <button type="button" class="quiet copy" aria-label={label} onClick={() => void copy()}>
      {done ? "Copied" : "Copy"}
    </button>
  );
}

/** Pages without TLS on another name than localhost have no clipboard interface. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** A part that opens and closes, drawn only while it is open. */
export function Fold(props: { summary: ComponentChildren; open: boolean; onToggle: () => void; children: ComponentChildren; class?: string }): VNode {
  return (
    <div class={`fold ${props.class ?? ""}`}>
      <button type="button" class="fold-head" aria-expanded={props.open} onClick={props.onToggle}>
        <span class="chevron" aria-hidden="true" />
        {props.summary}
      </button>
      {props.open && <div class="fold-body">{props.children}</div>}
    </div>
  );
}
