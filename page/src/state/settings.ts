/** What the user chose on this device. */

import { effect, signal, type Signal } from "@preact/signals";

export type ThemeChoice = "system" | "light" | "dark";
export type DiffLayout = "side" | "unified";

export const themeChoice = stored<ThemeChoice>("zot-theme", "system");
export const diffLayout = stored<DiffLayout>("zot-diff", "unified");
export const opensTools = stored<"yes" | "no">("zot-tools", "no");
export const notifies = stored<"yes" | "no">("zot-notify", "no");
export const recentDirectories = stored<string>("zot-directories", "");

function stored<T extends string>(key: string, initial: T): Signal<T> {
  let value = initial;
  try {
    value = (localStorage.getItem(key) as T | null) ?? initial;
  } catch {
    // storage is switched off: the choice lasts as long as the page
  }
  const found = signal<T>(value);
  effect(() => {
    const now = found.value;
    try {
      localStorage.setItem(key, now);
    } catch {
      // as above
    }
  });
  return found;
}
