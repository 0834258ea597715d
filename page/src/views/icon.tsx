/** Small line drawings. */

import type { VNode } from "preact";

const PATHS = {
  image: "M2.5 3.5h11v9h-11z M2.5 10.5l3-3 2.5 2.5 2-2 3.5 3.5 M10.5 6.2v.1",
  menu: "M2.5 4.5h11 M2.5 8h11 M2.5 11.5h11",
  plus: "M8 3v10 M3 8h10",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6z M8 1.5v1.6 M8 12.9v1.6 M1.5 8h1.6 M12.9 8h1.6 M3.4 3.4l1.1 1.1 M11.5 11.5l1.1 1.1 M12.6 3.4l-1.1 1.1 M4.5 11.5l-1.1 1.1",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z",
  system: "M2.5 3.5h11v7h-11z M6 13h4 M8 10.5V13",
  more: "M3.5 8h.1 M8 8h.1 M12.5 8h.1",
  bell: "M4 11V7.5a4 4 0 0 1 8 0V11l1 1.2H3z M6.8 14h2.4",
  close: "M4 4l8 8 M12 4l-8 8",
  help: "M6 6.2a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6 M8 12v.1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): VNode {
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
