/** Before a conversation is open. */

import type { VNode } from "preact";
import * as overview from "../state/overview.ts";
import { dialog } from "../state/route.ts";
import { visible } from "../text/visible.ts";

export function Welcome(): VNode {
  const where = overview.directory.value;
  return (
    <div class="welcome">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h2>Start a conversation</h2>
      <p class="muted">{where ? `The server works in ${visible(where, true)}.` : "Choose one of the list, or start a new one."}</p>
      <div class="row-of-buttons">
        <button type="button" class="primary" id="start" onClick={() => overview.startNew("")}>{where ? "Start here" : "Start"}</button>
        <button type="button" onClick={() => (dialog.value = "new")}>In another directory…</button>
      </div>
    </div>
  );
}
