/** The editor of the prompt, with completion, pictures, the queue and the buttons. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../state/announcer.ts";
import { complete, type Suggestion } from "../state/completion.ts";
import * as composer from "../state/composer.ts";
import * as conversation from "../state/conversation.ts";
import { CompletionList } from "./completion_list.tsx";
import { QueueList } from "./queue_list.tsx";
import { Icon } from "./icon.tsx";
import { Corners } from "./surfaces.tsx";

const isNarrow = matchMedia("(max-width: 640px)");
const isTouch = matchMedia("(pointer: coarse)").matches;

export function Composer(): VNode {
  const area = useRef<HTMLTextAreaElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const suggestions = useSignal<readonly Suggestion[]>([]);
  const chosen = useSignal(0);
  const number = useRef(0);
  const isOver = useSignal(false);
  const canWrite = conversation.drives.value && conversation.link.value === "open";
  const text = composer.draft.value;

  useLayoutEffect(() => grow(area.current), [text]);
  useLayoutEffect(() => {
    if (!isTouch) area.current?.focus({ preventScroll: true });
  }, []);

  const offer = async () => {
    const element = area.current;
    if (!element) return;
    const mine = ++number.current;
    const found = await complete(element.value, element.selectionStart);
    if (mine !== number.current) return;
    suggestions.value = found;
    chosen.value = 0;
    if (found.length) announce(`${found.length} suggestions; ${found[0]?.label}`);
  };
  const dismiss = () => {
    number.current++;
    suggestions.value = [];
  };
  const choose = (suggestion: Suggestion) => {
    const element = area.current;
    if (!element) return;
    const cursor = element.selectionStart;
    composer.draft.value = element.value.slice(0, suggestion.from) + suggestion.insert + element.value.slice(cursor);
    dismiss();
    const end = suggestion.from + suggestion.insert.length;
    if (suggestion.isWhole) return void send(false);
    requestAnimationFrame(() => {
      element.focus();
      element.setSelectionRange(end, end);
      if (suggestion.insert.endsWith("/ ") || suggestion.insert.startsWith("/")) void offer();
    });
  };
  const send = (steers: boolean) => {
    dismiss();
    void composer.send(steers);
  };
  const move = (by: number) => {
    const count = suggestions.value.length;
    chosen.value = (chosen.value + by + count) % count;
    announce(suggestions.value[chosen.value]?.label ?? "");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (suggestions.value.length && listKey(event)) return event.preventDefault();
    if (event.key === "Enter" && !event.shiftKey && !event.altKey && (!isTouch || event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send(event.ctrlKey || event.metaKey);
    } else if (event.key === "ArrowUp" && !text) {
      const last = conversation.transcript.entries.findLast((entry) => entry.kind === "user");
      if (last) composer.draft.value = last.text;
    }
  };
  /** True if the key was for the list of suggestions. */
  const listKey = (event: KeyboardEvent): boolean => {
    const current = suggestions.value[chosen.value];
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Escape") {
      dismiss();
      event.stopPropagation();
    } else if ((event.key === "Tab" || (event.key === "Enter" && !event.ctrlKey && !event.shiftKey)) && current) {
      const isTyped = event.key === "Enter" && composer.draft.value.trim() === current.insert.trim();
      if (isTyped) return false; // the command is written out: enter sends it
      choose(current);
    } else return false;
    return true;
  };

  return (
    <form
      class={isOver.value ? "composer is-over" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        send(false);
      }}
      onDragOver={(event) => {
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => (isOver.value = false)}
      onDrop={(event) => {
        event.preventDefault();
        isOver.value = false;
        void composer.addPictures(event.dataTransfer?.files ?? []);
      }}
    >
      <QueueList />
      {suggestions.value.length > 0 && <CompletionList suggestions={suggestions.value} chosen={chosen.value} onChoose={choose} />}
      <Attachments />
      <Corners at="top" />
      <textarea
        id="prompt"
        ref={area}
        rows={1}
        value={text}
        readOnly={!conversation.drives.value}
        placeholder={placeholder()}
        aria-label="Prompt"
        aria-autocomplete="list"
        aria-controls={suggestions.value.length ? "suggestions" : undefined}
        aria-activedescendant={suggestions.value.length ? `suggestion-${chosen.value}` : undefined}
        spellcheck={true}
        onInput={(event) => {
          composer.draft.value = event.currentTarget.value;
          void offer();
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setTimeout(dismiss, 150)}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])].filter((each) => each.type.startsWith("image/"));
          if (!files.length) return;
          event.preventDefault();
          void composer.addPictures(files);
        }}
      />
      <Corners at="bottom" />
      <div class="composer-bar">
        <input
          ref={file}
          type="file"
          accept="image/png,image/jpeg,image/gif,image/webp"
          multiple
          class="visually-hidden"
          tabIndex={-1}
          aria-label="Picture files"
          onChange={(event) => {
            void composer.addPictures(event.currentTarget.files ?? []);
            event.currentTarget.value = "";
          }}
        />
        <button type="button" class="quiet icon-button" aria-label="Attach pictures" title="Attach pictures" disabled={!canWrite} onClick={() => file.current?.click()}>
          <Icon name="image" />
        </button>
        <span class="hint">{hint()}</span>
        <span class="grow" />
        <Buttons canWrite={canWrite} onSteer={() => send(true)} />
      </div>
    </form>
  );
}

function Buttons({ canWrite, onSteer }: { canWrite: boolean; onSteer: () => void }): VNode {
  const isBusy = conversation.isBusy.value;
  const isEmpty = !composer.draft.value.trim() && !composer.pictures.value.length;
  return (
    <>
      {isBusy && (
        <button type="button" class="danger" id="stop" disabled={!canWrite} title="Esc" onClick={() => void conversation.tell("abort")}>
          Stop
        </button>
      )}
      {isBusy && (
        <button type="button" disabled={!canWrite || isEmpty} title="Ctrl+Enter: the running prompt sees it before its next step" onClick={onSteer}>
          Steer
        </button>
      )}
      <button type="submit" class="primary" id="send" disabled={!canWrite || isEmpty} title={isBusy ? "Enter: it waits for its turn" : "Enter"}>
        {isBusy ? "Queue" : "Send"}
      </button>
    </>
  );
}

function Attachments(): VNode | null {
  if (!composer.pictures.value.length) return null;
  return (
    <ul class="attachments" aria-label="Attached pictures">
      {composer.pictures.value.map((picture, at) => (
        <li>
          <img src={picture.address} alt={picture.name} />
          <button type="button" class="quiet" aria-label={`Remove ${picture.name}`} onClick={() => composer.removePicture(at)}>×</button>
        </li>
      ))}
    </ul>
  );
}

function placeholder(): string {
  if (conversation.link.value !== "open") return "Not connected";
  if (!conversation.drives.value) return "You watch this conversation";
  if (isNarrow.matches) return "Write a prompt";
  return conversation.isBusy.value ? "Write the next prompt; it waits for its turn" : "Write a prompt; / for commands, @ for files";
}

function hint(): string {
  if (!conversation.drives.value || isTouch) return "";
  return conversation.isBusy.value ? "Enter queues, Ctrl+Enter steers" : "Shift+Enter: new line";
}

function grow(area: HTMLTextAreaElement | null): void {
  if (!area) return;
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight + 2, window.innerHeight * 0.4)}px`;
}
