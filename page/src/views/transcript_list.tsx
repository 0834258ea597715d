/** The entries of a transcript. Only the newest are in the document; earlier ones come when the reader scrolls up. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import * as conversation from "../state/conversation.ts";
import type { Transcript } from "../state/transcript.ts";
import { EntryView } from "./entries.tsx";

const FIRST = 40; // entries drawn at first
const STEP = 60; // drawn with each step upwards
const MOST = 80; // in the document while the end is followed
const KEPT = 64; // of them, when there are more
const NEAR = 60; // pixels from the end that count as the end

export function TranscriptList({ transcript }: { transcript: Transcript }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const first = useRef(0);
  const follows = useRef(true);
  const area = useRef(""); // of the window then: in another one the end is elsewhere
  const isHeld = useRef(false);
  const placed = useRef(0); // where the end was, when it was last scrolled to
  const isAtEnd = useSignal(true);
  const redraw = useSignal(0);
  const before = useRef<{ height: number; top: number } | null>(null);

  redraw.value;
  transcript.change.value;
  const entries = transcript.entries;
  const known = useRef(entries);
  if (known.current !== entries) {
    known.current = entries; // another transcript: its end
    first.current = Math.max(entries.length - FIRST, 0);
    follows.current = true;
    placed.current = 0;
  } else if (follows.current && entries.length - first.current > MOST) {
    first.current = entries.length - KEPT;
    placed.current = 0;
  }
  first.current = Math.min(first.current, entries.length);

  /** Whether the reader has scrolled up from where the end was; content that grows below does not count. */
  const isAbove = (element: HTMLElement) =>
    area.current === areaOf(element) &&
    element.scrollTop < placed.current - 4 && element.scrollTop < element.scrollHeight - element.clientHeight - 4;
  const follow = (on: boolean) => {
    follows.current = on;
    if (box.current) box.current.style.overflowAnchor = on ? "none" : "auto";
  };
  const toEnd = () => {
    const element = box.current;
    if (!element || !follows.current || isHeld.current) return;
    const end = element.scrollHeight - element.clientHeight;
    if (isAbove(element)) return follow(false); // scrolled up; the event of it is still on its way
    element.scrollTop = end;
    placed.current = element.scrollTop;
    area.current = areaOf(element);
  };
  const earlier = () => {
    const element = box.current;
    if (!element || first.current === 0) return;
    before.current = { height: element.scrollHeight, top: element.scrollTop };
    follow(false);
    first.current = Math.max(first.current - STEP, 0);
    redraw.value++;
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !before.current) return;
    element.scrollTop = before.current.top + element.scrollHeight - before.current.height;
    before.current = null;
  });
  useEffect(() => {
    const content = box.current?.firstElementChild;
    if (!content) return;
    // Called for new entries, text that grows, pictures that load, a window that changes: after the layout, so that
    // reading the height costs nothing.
    const watcher = new ResizeObserver(toEnd);
    watcher.observe(content);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);

  const scrolled = () => {
    const element = box.current;
    if (!element) return;
    const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    follow(isNear || (follows.current && !isAbove(element)));
    const isEnd = follows.current;
    if (isAtEnd.value !== isEnd) isAtEnd.value = isEnd;
    if (element.scrollTop < 200 && first.current > 0 && !isEnd) earlier();
  };

  /** What the user opens or folds stays where it is. */
  const hold = () => {
    isHeld.current = true;
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        isHeld.current = false;
        scrolled();
      }),
    );
  };

  return (
    <div class="transcript-frame">
      <div
        class="transcript"
        id="transcript"
        ref={box}
        onScroll={scrolled}
        onClickCapture={hold}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        aria-busy={conversation.isLoading}
      >
        <div class="entries">
          {first.current > 0 && (
            <button type="button" class="quiet earlier" onClick={earlier}>
              Show earlier ({first.current.toLocaleString("en")} more)
            </button>
          )}
          {!entries.length && <Empty />}
          {entries.slice(first.current).map((entry) => (
            <EntryView key={entry.id} entry={entry} />
          ))}
          <Working />
        </div>
      </div>
      {!isAtEnd.value && (
        <button
          type="button"
          class="to-end"
          aria-label="Go to the end"
          onClick={() => {
            follows.current = true;
            placed.current = 0;
            first.current = Math.max(entries.length - FIRST, 0);
            redraw.value++;
            requestAnimationFrame(toEnd);
          }}
        >
          ↓
        </button>
      )}
    </div>
  );
}

function areaOf(element: HTMLElement): string {
  return `${element.clientWidth} ${element.clientHeight}`;
}

function Empty(): VNode {
  const text = conversation.isLoading.value ? "Reading the conversation…" : "Nothing here yet. Write a prompt below.";
  return <p class="empty">{text}</p>;
}

function Working(): VNode | null {
  if (!conversation.isBusy.value) return null;
  return (
    <p class="working">
      <span class="pulse" aria-hidden="true" />
      <span>{conversation.link.value === "open" ? "Working" : "Waiting for the connection"}</span>
    </p>
  );
}
