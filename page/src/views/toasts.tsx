/** Short notices in a corner. */

import type { VNode } from "preact";
import { dismiss, toasts } from "../state/toasts.ts";

export function Toasts(): VNode {
  return (
    <div class="toasts">
      {toasts.value.map((each) => (
        <div key={each.id} class={`toast level-${each.level}`}>
          <span class="toast-text">{each.source && <strong>{each.source} </strong>}{each.text}</span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => dismiss(each.id)}>×</button>
        </div>
      ))}
    </div>
  );
}
