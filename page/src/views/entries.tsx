/** One entry of the transcript. */

import { useSignal } from "@preact/signals";
import { Component, type VNode } from "preact";
import { fork } from "../state/overview.ts";
import * as conversation from "../state/conversation.ts";
import { rewindTo } from "../state/rewind.ts";
import type { Entry, NoteEntry, TextEntry, ThinkingEntry, UserEntry } from "../state/transcript.ts";
import { Markdown } from "../text/markdown_view.tsx";
import { CopyButton, Fold } from "./code.tsx";
import { Images } from "./images.tsx";
import { ToolCall } from "./tool_call.tsx";

/** Drawn again only when its entry changes (signals compare the properties): the list around it changes more often. */
export class EntryView extends Component<{ entry: Entry }> {
  override render({ entry }: { entry: Entry }): VNode {
    entry.change.value;
    switch (entry.kind) {
      case "user":
        return <User entry={entry} />;
      case "text":
        return <Text entry={entry} live={entry.live} text={entry.text} />;
      case "thinking":
        return <Thinking entry={entry} live={entry.live} text={entry.text} />;
      case "tool":
        return <ToolCall entry={entry} change={entry.change.value} />;
      case "note":
        return <Note entry={entry} />;
    }
  }
}

function User({ entry }: { entry: UserEntry }): VNode {
  const isMine = conversation.drives.value && !conversation.isBusy.value;
  return (
    <article class="entry user" aria-label={`Prompt ${entry.prompt}`}>
      <div class="bubble">
        {entry.text && <p class="plain">{entry.text}</p>}
        <Images images={entry.images} />
      </div>
      <div class="entry-actions">
        <CopyButton text={entry.text} label="Copy prompt" />
        <button type="button" class="quiet" disabled={!isMine} onClick={() => rewindTo(entry.prompt)}>
          Rewind
        </button>
        <button type="button" class="quiet" onClick={() => void forkBefore(entry)}>
          Fork
        </button>
      </div>
    </article>
  );
}

/** Fork keeps the messages before this prompt. */
async function forkBefore(entry: UserEntry): Promise<void> {
  const { messages } = await conversation.ask<{ messages: { role: string }[] }>("get_messages");
  let prompts = 0;
  const at = messages.findIndex((message) => message.role === "user" && ++prompts === entry.prompt);
  await fork(conversation.name.value, Math.max(at, 0));
}

function Text({ text, live }: { entry: TextEntry; text: string; live: boolean }): VNode {
  return (
    <article class="entry text" aria-label="Answer">
      <Markdown text={text} live={live} />
      {!live && (
        <div class="entry-actions">
          <CopyButton text={text} label="Copy answer as Markdown" />
        </div>
      )}
    </article>
  );
}

function Thinking({ entry, text, live }: { entry: ThinkingEntry; text: string; live: boolean }): VNode {
  const open = useSignal(false);
  const seconds = entry.seconds ? ` for ${entry.seconds.toFixed(entry.seconds < 10 ? 1 : 0)} s` : "";
  return (
    <article class="entry thinking" aria-label="Thinking">
      <Fold
        summary={<span>{live ? "Thinking…" : `Thought${seconds}`}</span>}
        open={open.value}
        onToggle={() => (open.value = !open.value)}
      >
        {text ? <Markdown text={text} live={live} /> : <p class="muted">The provider withholds the text.</p>}
      </Fold>
    </article>
  );
}

function Note({ entry }: { entry: NoteEntry }): VNode {
  return (
    <article class={`entry note level-${entry.level}`} aria-label={entry.source || entry.level}>
      {entry.source && <strong class="source">{entry.source}</strong>}
      {entry.markdown ? <Markdown text={entry.text} /> : <p class="plain">{entry.text}</p>}
    </article>
  );
}
