/** Prompts that wait, and messages that the running prompt sees next. */

import type { VNode } from "preact";
import { unqueue } from "../state/composer.ts";
import * as conversation from "../state/conversation.ts";
import { isListed, queued, steering } from "../state/queue.ts";
import type { Queued } from "../wire.ts";

export function QueueList(): VNode | null {
  if (!queued.value.length && !steering.value.length) return null;
  return (
    <section class="queue" aria-label="Waiting prompts">
      {steering.value.map((each) => (
        <Row label="steers" entry={each} />
      ))}
      {queued.value.map((each) => (
        <Row label="waits" entry={each} canRemove={isListed.value && conversation.drives.value} />
      ))}
    </section>
  );
}

function Row({ label, entry, canRemove = false }: { label: string; entry: Queued; canRemove?: boolean }): VNode {
  const count = entry.images ?? 0;
  const pictures = count ? ` (${count} ${count === 1 ? "picture" : "pictures"})` : "";
  return (
    <p class="queued">
      <span class="tag">{label}</span>
      <span class="queued-text">{entry.text + pictures}</span>
      {canRemove && (
        <button type="button" class="quiet" aria-label={`Take back: ${entry.text.slice(0, 80)}`} onClick={() => void unqueue(entry.index ?? 0)}>
          Take back
        </button>
      )}
    </p>
  );
}
