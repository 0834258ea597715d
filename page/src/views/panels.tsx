/** Panels of extensions. The newest has the focus when it opens; its keys go back to the extension. */

import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import * as conversation from "../state/conversation.ts";
import { closePanel, panels } from "../state/extensions.ts";
import { toLines } from "../text/styled.ts";
import { Lines } from "../text/styled_view.tsx";
import { cleanOutput } from "../text/visible.ts";
import type { PanelFrame } from "../wire.ts";
import { Icon } from "./icon.tsx";

const KEYS: Record<string, string> = {
  ...{ ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Enter: "enter", Tab: "tab" },
  ...{ Backspace: "backspace", Delete: "delete", Home: "home", End: "end", PageUp: "pageup", PageDown: "pagedown" },
};
const SELECTED = /^ *(▸ |● |\u200b)/;

export function Panels(): VNode | null {
  if (!panels.value.length) return null;
  return (
    <div class="panels">
      {panels.value.map((panel) => (
        <Panel key={`${panel.extension}/${panel.panel_id}`} panel={panel} />
      ))}
    </div>
  );
}

function Panel({ panel }: { panel: PanelFrame }): VNode {
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => body.current?.focus({ preventScroll: true }), []);
  useEffect(() => body.current?.querySelector(".selected, .role-selection")?.scrollIntoView({ block: "nearest" }), [panel]);
  const title = panel.title || panel.extension;
  return (
    <section class="panel" aria-label={`Panel ${title}`}>
      <header>
        <h2>{cleanOutput(title).slice(0, 200)}</h2>
        <span class="tag">{panel.extension}</span>
        <button type="button" class="quiet icon-button" aria-label={`Close ${title}`} disabled={!conversation.drives.value} onClick={() => close(panel)}>
          <Icon name="close" />
        </button>
      </header>
      <div class="panel-body" ref={body} tabIndex={0} role="application" aria-label={`${title}: keys go to the extension, Escape closes`} onKeyDown={(event) => pressed(event, panel)}>
        {panel.rows !== undefined && panel.rows !== null ? <Lines lines={toLines(panel.rows)} /> : <Plain lines={panel.lines} />}
      </div>
      {panel.footer && <p class="panel-footer">{cleanOutput(panel.footer).slice(0, 1_000)}</p>}
      <TouchKeys panel={panel} />
    </section>
  );
}

/** Lines of the first edition: the selected one begins with a mark. */
function Plain({ lines }: { lines: readonly string[] }): VNode {
  return (
    <div class="styled">
      {lines.slice(0, 2_000).map((line) => (
        <div class={SELECTED.test(line) ? "row selected" : "row"}>
          {line ? <Lines lines={toLines([line.replace(/\u200b/g, "")])} /> : "\u00a0"}
        </div>
      ))}
    </div>
  );
}

function pressed(event: KeyboardEvent, panel: PanelFrame): void {
  if (!conversation.drives.value || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Tab" && event.shiftKey) return; // the way out
  if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    if (panel.keys === "all" || panel.keys === "release") sendKey(panel, "esc");
    else close(panel);
    return;
  }
  const name = KEYS[event.key];
  if (!name && event.key.length !== 1) return;
  event.preventDefault();
  event.stopPropagation();
  if (name) sendKey(panel, name);
  else sendKey(panel, "rune", event.key);
}

function sendKey(panel: PanelFrame, key: string, text = ""): void {
  const fields = { extension: panel.extension, panel_id: panel.panel_id, key };
  void conversation.tell("panel_key", text ? { ...fields, text } : fields);
}

function close(panel: PanelFrame): void {
  void conversation.tell("panel_close", { extension: panel.extension, panel_id: panel.panel_id });
  closePanel(panel.extension, panel.panel_id);
  document.getElementById("prompt")?.focus({ preventScroll: true });
}

const TOUCH: [string, string, string][] = [
  ["up", "↑", "Up"],
  ["down", "↓", "Down"],
  ["left", "←", "Left"],
  ["right", "→", "Right"],
  ["enter", "⏎", "Enter"],
];

/** For devices without these keys. */
function TouchKeys({ panel }: { panel: PanelFrame }): VNode {
  return (
    <div class="touch-keys" role="group" aria-label="Keys">
      {TOUCH.map(([key, sign, label]) => (
        <button type="button" aria-label={label} disabled={!conversation.drives.value} onClick={() => sendKey(panel, key)}>{sign}</button>
      ))}
    </div>
  );
}
