// __NAME__: a status item and a widget. Try it with `zot --ext .`; test it with `node --test`.

import { Extension, Response, line } from "./zot-ext/index.ts";

const ext = new Extension("__NAME__", "0.1.0");
const calls: string[] = [];
let shown = true;

/** A contribution replaces the one of its name: draw the whole, as often as you like. */
function draw(): void {
  ext.status("calls", line(["tools ", "muted"], [String(calls.length), "accent"]));
  if (shown && calls.length > 0) ext.widget("last", calls.slice(-3).map((name) => line("• ", name)));
  else ext.withdraw("widget", "last");
}

ext.onHello(() => {
  calls.push(...((ext.state as string[] | null) ?? [])); // what the process before a reload returned from onStateSave
  draw();
});

ext.onStateSave(() => calls);

ext.on("tool_call", (event) => {
  calls.push(event.tool_name ?? "");
  draw();
});

ext.command("__NAME__", "show or hide the last tools", () => {
  shown = !shown;
  draw();
  return Response.noop();
});

await ext.run();
