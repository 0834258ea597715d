// The public entry point of the package.

export * from "./answers.js";
export { BranchState } from "./branch-state.js";
export { Context } from "./context.js";
export { Cancelled, Denied, NotSupported, RequestError, TimedOut, Unavailable } from "./errors.js";
export { type CommandOptions, Extension, type ToolOptions } from "./extension.js";
export type { Event, EventIntercept, HelloAck, HostToolResult, Panel, Progress } from "./frames.js";
export type * from "./handlers.js";
export type { Field, Option } from "./host-methods.js";
export { Interception, Verdict } from "./interceptions.js";
export { type Line, type Span, type View, line } from "./lines.js";
export type { RequestOptions } from "./requests.js";
