/** A button with a short list of actions. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

export function Menu({ label, items }: { label: string; items: readonly (readonly [string, () => void])[] }): VNode {
  const open = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open.value) return;
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const onPointer = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) open.value = false;
    };
    document.addEventListener("pointerdown", onPointer);
    return () => document.removeEventListener("pointerdown", onPointer);
  }, [open.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!open.value) return;
    const entries = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    if (event.key === "ArrowDown") entries[(at + 1) % entries.length]?.focus();
    else if (event.key === "ArrowUp") entries[(at + entries.length - 1) % entries.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") {
      open.value = false;
      button.current?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu-box" ref={box} onKeyDown={onKeyDown}>
      <button type="button" class="quiet icon-button" ref={button} aria-label={label} aria-haspopup="menu" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        <Icon name="more" />
      </button>
      {open.value && (
        <div class="menu-list" role="menu" aria-label={label}>
          {items.map(([name, run]) => (
            <button
              type="button"
              role="menuitem"
              onClick={() => {
                open.value = false;
                run();
              }}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
