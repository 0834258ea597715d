// The types of handlers. Each may be async.

import type { AssistantMessageDecision, Response, ToolCallDecision, ToolContent, ToolResult, TurnStartDecision } from "./answers.js";
import type { Event, EventIntercept, HostToolResult } from "./frames.js";

type Maybe<T> = T | Promise<T>;
type Args = Record<string, any>;

/** One call of a tool: its ids, whether it was cancelled, and a method to call other tools. */
export interface ToolContext {
  readonly id: string;
  readonly name: string;
  /** The same for every replay of one call; empty in ordinary sessions. */
  readonly operationKey: string;
  /** Aborted when zot cancels the call; the result is then ignored. */
  readonly signal: AbortSignal;
  /** Requests that zot runs a tool as part of this call. */
  callTool(name: string, args: object): Promise<HostToolResult>;
}

export type CommandHandler = (args: string) => Maybe<Response | string | void>;
/** The return value of a tool: text, blocks, a ToolResult, or data, which becomes `structured_content` and its JSON text. */
export type ToolReturn = ToolResult | string | ToolContent | readonly ToolContent[] | object | number | boolean | void;
export type ToolHandler<A = Args> = (args: A, context: ToolContext) => Maybe<ToolReturn>;
export type ReconcileHandler = (args: Args, context: ToolContext) => Maybe<"completed" | "not_started" | "unknown" | ToolResult>;
export type EventHandler = (event: Event) => Maybe<void>;
export type InterceptHandler = (tool: string, args: Args) => Maybe<readonly [allowed: boolean, reason: string] | ToolCallDecision | void>;
export type ToolCallHandler = (tool: string, args: Args) => Maybe<ToolCallDecision | void>;
export type TurnStartHandler = (step: number) => Maybe<TurnStartDecision | void>;
export type AssistantMessageHandler = (text: string) => Maybe<AssistantMessageDecision | void>;
export type BeforeAgentStartHandler = (asked: EventIntercept) => Maybe<string | void>;
export type PanelKeyHandler = (key: string, text: string) => Maybe<void>;

/** The type of the arguments that a literal JSON Schema describes. */
export type ArgsOf<S> = S extends { readonly enum: readonly (infer E)[] }
  ? E
  : S extends { readonly type: "string" }
    ? string
    : S extends { readonly type: "number" | "integer" }
      ? number
      : S extends { readonly type: "boolean" }
        ? boolean
        : S extends { readonly type: "array"; readonly items: infer I }
          ? ArgsOf<I>[]
          : S extends { readonly type: "object"; readonly properties: infer P }
            ? ObjectOf<P, S extends { readonly required: readonly (infer R)[] } ? R : never>
            : any;

type ObjectOf<P, R> = { [K in keyof P as K extends R ? K : never]: ArgsOf<P[K]> } & {
  [K in keyof P as K extends R ? never : K]?: ArgsOf<P[K]>;
};
