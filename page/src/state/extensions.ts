/** What extensions show: surfaces beside the conversation, panels, and notes. */

import { signal } from "@preact/signals";
import type { Frame, PanelFrame, SurfaceFrame } from "../wire.ts";
import { dismissSource, toast } from "./toasts.ts";

export const surfaces = signal<readonly SurfaceFrame[]>([]);
export const panels = signal<readonly PanelFrame[]>([]);

export function reset(): void {
  surfaces.value = [];
  panels.value = [];
}

export function apply(frame: Frame): boolean {
  const handler = HANDLERS[frame.type];
  handler?.(frame);
  return handler !== undefined;
}

/** Those of a kind, in the order in which they are drawn. */
export function ofKind(kind: string): SurfaceFrame[] {
  const order = (frame: SurfaceFrame) => Number((frame.value as { order?: number } | null)?.order ?? 0) || 0;
  return surfaces.value.filter((each) => each.kind === kind).sort((one, other) => order(one) - order(other));
}

const HANDLERS: Record<string, (frame: Frame) => void> = {
  ext_surface: (frame) => {
    const fresh = frame as unknown as SurfaceFrame;
    const isSame = (each: SurfaceFrame) =>
      each.extension === fresh.extension && each.kind === fresh.kind && each.name === fresh.name;
    const at = surfaces.value.findIndex(isSame);
    const rest = [...surfaces.value];
    if (fresh.value === undefined || fresh.value === null) {
      if (at >= 0) rest.splice(at, 1);
    } else if (at >= 0) rest[at] = fresh;
    else rest.push(fresh);
    surfaces.value = rest;
  },
  ext_panel: (frame) => {
    const fresh = frame as unknown as PanelFrame;
    const at = panels.value.findIndex((each) => isPanel(each, fresh.extension, fresh.panel_id));
    const old = panels.value[at];
    const shown = { ...fresh, title: fresh.title || old?.title || "", place: fresh.place ?? old?.place };
    panels.value = at >= 0 ? panels.value.with(at, shown) : [...panels.value, shown];
  },
  ext_panel_close: (frame) => closePanel(String(frame["extension"]), String(frame["panel_id"])),
  ext_notify: (frame) => toast(String(frame["level"]), String(frame["message"]), String(frame["extension"])),
  ext_clear_notes: (frame) => dismissSource(String(frame["extension"])),
};

export function closePanel(extension: string, id: string): void {
  panels.value = panels.value.filter((each) => !isPanel(each, extension, id));
}

function isPanel(panel: PanelFrame, extension: string, id: string): boolean {
  return panel.extension === extension && panel.panel_id === id;
}
