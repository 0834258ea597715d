/** Colours of the user's theme, light and dark, as CSS variables. A colour too faint to read is strengthened. */

import { computed, effect, signal } from "@preact/signals";
import { fetchJson } from "../net/access.ts";
import { themeChoice } from "./settings.ts";

type Colours = Record<string, string>;

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(prefersDark.matches);
const themes = signal<{ light: Colours; dark: Colours }>({ light: {}, dark: {} });

export const isDark = computed(() =>
  themeChoice.value === "system" ? systemIsDark.value : themeChoice.value === "dark",
);

const GROUND = { light: "#ffffff", dark: "#16181d" };
const SURFACE = { light: "#f4f5f7", dark: "#1e2127" };
/** The names of the page, the roles they come from, and what they stand on. */
const TEXT_ROLES: [string, string[]][] = [
  ["fg", ["fg"]],
  ["muted", ["muted"]],
  ["accent", ["accent"]],
  ["tool", ["tool"]],
  ["success", ["note_success", "tool"]],
  ["warning", ["warning"]],
  ["error", ["error"]],
  ["heading", ["heading", "fg"]],
  ["code", ["code", "accent"]],
  ["link", ["link", "accent"]],
  ["diff_add", ["diff_add", "tool"]],
  ["diff_remove", ["diff_remove", "error"]],
];
/** Classes of the highlighter, the syntax roles of zot, and roles for a server without them. */
const SYNTAX: [string, string, string][] = [
  ["keyword", "keyword", "accent"],
  ["type", "keyword_type", "accent"],
  ["built_in", "name_builtin", "accent"],
  ["title", "name_function", "tool"],
  ["attr", "name_decorator", "warning"],
  ["string", "literal_string", "tool"],
  ["number", "literal_number", "warning"],
  ["comment", "comment", "muted"],
  ["meta", "comment_preproc", "muted"],
];
const BUILT_IN: { light: Colours; dark: Colours } = {
  light: { fg: "#24292f", muted: "#5f6672", accent: "#0b62c4", tool: "#1a7f37", warning: "#9a5b00", error: "#c62828" },
  dark: { fg: "#dcdfe4", muted: "#949ba6", accent: "#87afff", tool: "#87d787", warning: "#ffaf00", error: "#ff7b72" },
};

export async function startTheme(): Promise<void> {
  prefersDark.addEventListener("change", (event) => (systemIsDark.value = event.matches));
  effect(() => apply(isDark.value));
  try {
    const fetched = await fetchJson<{ light?: Colours; dark?: Colours }>("GET", "/theme");
    themes.value = { light: fetched.light ?? {}, dark: fetched.dark ?? {} };
  } catch {
    // a server without themes: the built-in colours stay
  }
}

function apply(dark: boolean): void {
  const side = dark ? "dark" : "light";
  const roles = { ...BUILT_IN[side], ...valid(themes.value[side]) };
  const root = document.documentElement;
  const ground = roles["background"] ?? GROUND[side];
  const surface = roles["background"] ? mix(ground, dark ? "#ffffff" : "#000000", 0.045) : SURFACE[side];
  root.dataset["theme"] = side;
  const set = (name: string, value: string) => root.style.setProperty(name, value);
  set("--bg", ground);
  set("--surface", surface);
  for (const [name, from] of TEXT_ROLES) {
    const found = from.map((role) => roles[role]).find((value) => value) ?? roles["fg"] ?? "#808080";
    set(`--role-${name}`, readable(found, surface, dark));
  }
  set("--user-bg", roles["user_bubble_bg"] ?? mix(ground, dark ? "#ffffff" : "#000000", 0.09));
  set("--role-user", readable(roles["user_bubble_fg"] ?? roles["fg"] ?? "#808080", roles["user_bubble_bg"] ?? surface, dark));
  const accent = readable(roles["accent"] ?? "#0b62c4", ground, dark);
  const selection = roles["selection_bg"] ?? mix(ground, accent, 0.3);
  set("--selection-bg", selection);
  set("--role-selection", readable(roles["selection_fg"] ?? roles["fg"] ?? "#808080", selection, luminance(selection) < 0.3));
  set("--on-accent", luminance(accent) > 0.4 ? "#10131a" : "#ffffff");
  const added = roles["diff_add_bg"] ?? mix(ground, roles["tool"] ?? "#1a7f37", 0.16);
  const removed = roles["diff_remove_bg"] ?? mix(ground, roles["error"] ?? "#c62828", 0.16);
  set("--diff-add-bg", added);
  set("--diff-remove-bg", removed);
  for (const [scope, role, base] of SYNTAX) {
    const found = roles[`syntax_${role}`] ?? roles[base] ?? roles["fg"] ?? "#808080";
    set(`--hl-${scope}`, [surface, added, removed].reduce((colour, under) => readable(colour, under, dark), found));
  }
  document.querySelector('meta[name="theme-color"]')?.setAttribute("content", ground);
}

function valid(colours: Colours): Colours {
  return Object.fromEntries(Object.entries(colours).filter(([, value]) => /^#[0-9a-f]{6}$/i.test(value)));
}

// --- colours

type Rgb = [number, number, number];

function rgb(colour: string): Rgb {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function mix(one: string, other: string, share: number): string {
  const [from, to] = [rgb(one), rgb(other)];
  const part = (at: 0 | 1 | 2) => Math.round(from[at] + (to[at] - from[at]) * share);
  return `#${[part(0), part(1), part(2)].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

export function luminance(colour: string): number {
  const [red, green, blue] = rgb(colour).map((value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const LEAST_CONTRAST = 5; // 4.5 is the rule; tints of the ground take some

/** The colour, mixed with white or black until it can be read. */
export function readable(colour: string, ground: string, dark: boolean): string {
  for (let share = 0; share < 1; share += 0.05) {
    const tried = mix(colour, dark ? "#ffffff" : "#000000", share);
    if (contrast(tried, ground) >= LEAST_CONTRAST) return tried;
  }
  return dark ? "#ffffff" : "#000000";
}
