// The public entry point of the package.

export * from "./answers.js";
export { Extension, type ToolOptions } from "./extension.js";
export type { Event, EventIntercept, HelloAck, HostToolResult, Panel } from "./frames.js";
export type * from "./handlers.js";
