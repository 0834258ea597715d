/** What extensions show around the conversation, and the status line of zot itself. */

import type { VNode } from "preact";
import * as conversation from "../state/conversation.ts";
import { ofKind, surfaces } from "../state/extensions.ts";
import { toLine, toLines } from "../text/styled.ts";
import { Line, Lines } from "../text/styled_view.tsx";
import type { SurfaceFrame } from "../wire.ts";

type Value = Record<string, unknown>;

function valueOf(frame: SurfaceFrame): Value {
  return typeof frame.value === "object" && frame.value !== null ? (frame.value as Value) : {};
}

function staleness(frame: SurfaceFrame): string {
  return frame.stale ? "surface stale" : "surface";
}

/** A header, or another kind that has lines. */
export function Surface({ kind }: { kind: "header" | "footer" }): VNode | null {
  const found = ofKind(kind);
  if (!found.length) return null;
  return (
    <div class={`surface-${kind}`}>
      {found.map((each) => (
        <div class={staleness(each)} role="group" aria-label={`${kind} of ${each.extension}`}>
          <Lines lines={toLines(valueOf(each)["lines"], 20)} />
        </div>
      ))}
    </div>
  );
}

export function Widgets({ place }: { place: "above" | "below" }): VNode | null {
  surfaces.value;
  const found = ofKind("widget").filter((each) => (valueOf(each)["place"] ?? "above") === place);
  if (!found.length) return null;
  return (
    <div class="widgets">
      {found.map((each) => (
        <div class={`${staleness(each)} widget`} role="group" aria-label={`${each.name} of ${each.extension}`}>
          <Lines lines={toLines(valueOf(each)["lines"], 12)} />
        </div>
      ))}
    </div>
  );
}

/** Lines in the corners of the editor's border. */
export function Corners({ at }: { at: "top" | "bottom" }): VNode | null {
  const found = ofKind("border");
  const side = (name: string) => found.flatMap((each) => (valueOf(each)[name] ? [toLine(valueOf(each)[name])] : []));
  const [left, right] = [side(`${at}_left`), side(`${at}_right`)];
  if (!left.length && !right.length) return null;
  return (
    <div class="corners styled">
      <span>{left.map((line) => <Line line={line} />)}</span>
      <span>{right.map((line) => <Line line={line} />)}</span>
    </div>
  );
}

/** Status items of extensions, the cost and the context. A footer of an extension may take its place. */
export function StatusBar(): VNode {
  const footers = ofKind("footer");
  const replaces = footers.some((each) => valueOf(each)["replace"] !== false);
  const items = ofKind("status");
  const onSide = (side: string) => items.filter((each) => (valueOf(each)["side"] ?? "left") === side);
  return (
    <footer class="status-bar">
      <Surface kind="footer" />
      <div class="status-row">
        {!replaces && onSide("left").map((each) => <Item frame={each} />)}
        <span class="grow" />
        {!replaces && onSide("right").map((each) => <Item frame={each} />)}
        <Spent />
      </div>
    </footer>
  );
}

function Item({ frame }: { frame: SurfaceFrame }): VNode {
  return (
    <span class={`${staleness(frame)} styled status-item`} title={`${frame.name} of ${frame.extension}`}>
      <Line line={toLine(valueOf(frame)["line"])} />
    </span>
  );
}

function Spent(): VNode | null {
  const state = conversation.state.value;
  if (!state) return null;
  const tokens = conversation.lastUsage.value?.input ?? state.context_tokens ?? 0;
  const room = state.context_window ?? 0;
  const cost = conversation.lastUsage.value?.cost ?? state.usage.cost_usd;
  const share = room && tokens ? Math.min(tokens / room, 1) : 0;
  return (
    <>
      <span class="status-item" title="Cost of this conversation">{`$${cost.toFixed(cost < 1 ? 3 : 2)}`}</span>
      {room > 0 ? (
        <span class="status-item context" title={`${tokens.toLocaleString("en")} of ${room.toLocaleString("en")} tokens of context`}>
          <meter min={0} max={1} low={0.6} high={0.85} optimum={0} value={share} aria-label="Context used" />
          {`${Math.round(share * 100)} %`}
        </span>
      ) : (
        tokens > 0 && <span class="status-item" title="Tokens of context">{`${short(tokens)} tokens`}</span>
      )}
    </>
  );
}

export function short(count: number): string {
  return count < 1000 ? String(count) : count < 1_000_000 ? `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`;
}
