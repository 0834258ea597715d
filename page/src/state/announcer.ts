/** Short texts that screen readers read out. */

import { signal } from "@preact/signals";

export const polite = signal("");
export const urgent = signal("");

/** Read out when the reader is free. The same text twice in a row is read twice. */
export function announce(text: string): void {
  polite.value = polite.value === text ? `${text}\u00a0` : text;
}

/** Read out now: an answer of the user is needed. */
export function interrupt(text: string): void {
  urgent.value = urgent.value === text ? `${text}\u00a0` : text;
}
