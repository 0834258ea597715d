/** Characters that could hide or reorder text are shown as what they are, where a person decides by reading it. */

const SPELLED: Record<string, string> = { "\n": "\n", "\t": "\t" };
// Controls, soft hyphen, zero-width and bidirectional characters, separators, tags, unusual spaces, lone surrogates.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

export interface Piece {
  text: string;
  isHidden: boolean;
}

/** The text in pieces; a hidden character is a piece of its own, such as `U+202E`. With `oneLine` line breaks are too. */
export function visiblePieces(text: string, oneLine = false): Piece[] {
  const pieces: Piece[] = [];
  const pattern = oneLine ? new RegExp(`${HIDDEN.source}|[\\n\\t]`, "gu") : HIDDEN;
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > at) pieces.push({ text: text.slice(at, found.index), isHidden: false });
    pieces.push({ text: spelled(found[0]), isHidden: true });
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), isHidden: false });
  return pieces;
}

/** As one string, for labels and titles. */
export function visible(text: string, oneLine = false): string {
  return visiblePieces(text, oneLine)
    .map((piece) => (piece.isHidden ? `⟨${piece.text}⟩` : piece.text))
    .join("");
}

function spelled(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  if (character === "\r") return "\\r";
  if (character === "\x1b") return "ESC";
  const code = character.codePointAt(0) ?? 0;
  return SPELLED[character] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x1b\\|\x07)?|.?)/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Output of a program as plain text: without escapes; what a carriage return overwrote is gone. */
export function cleanOutput(text: string): string {
  let clean = text.includes("\x1b") ? text.replace(ESCAPES, "") : text;
  if (clean.includes("\r")) clean = clean.replace(/\r\n/g, "\n").replace(/[^\n]*\r/g, "");
  return clean.replace(CONTROLS, "\ufffd").replace(BIDI, "\ufffd");
}

/** An address that a link may open, or nothing. */
export function safeLink(address: string): string {
  const trimmed = address.trim();
  if (/[\u0000-\u0020\u007f]/.test(trimmed)) return "";
  return /^(https?:\/\/|mailto:)/i.test(trimmed) ? trimmed : "";
}

/** An address of a picture that needs no network. */
export function safePicture(address: string): string {
  return /^(data:image\/(png|jpeg|gif|webp);base64,[a-z0-9+/=]+|blob:)/i.test(address.trim()) ? address.trim() : "";
}
