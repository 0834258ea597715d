/** Text in which characters that could hide or reorder it are spelled out. */

import type { VNode } from "preact";
import { visiblePieces } from "../text/visible.ts";

export function Visible({ text, oneLine = false }: { text: string; oneLine?: boolean }): VNode {
  const pieces = visiblePieces(text, oneLine);
  return <>{pieces.map((piece) => (piece.isHidden ? <mark class="hidden-character" title="a character that is not visible">{piece.text}</mark> : piece.text))}</>;
}
