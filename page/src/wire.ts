/** Frames of the server: those of `zot rpc` (generated), and what `zot serve` and this page add to them. */

import type * as rpc from "../../sdks/typescript/src/rpc.ts";

export type {
  ApprovalRequestEvent as ApprovalRequest,
  ChangedFile,
  CommandInfo,
  CompletionItem,
  DialogField,
  ElicitationField,
  ElicitationRequestEvent as ElicitationRequest,
  ExtDialogEvent as DialogRequest,
  ExtFrameEvent as ExtFrame,
  ExtPanelEvent as PanelFrame,
  ExtSurfaceEvent as SurfaceFrame,
  FoundFile,
  Message,
  ModelInfo as ModelRow,
  Outside,
  PlanRequestEvent as PlanRequest,
  QuestionRequestEvent as QuestionRequest,
  Queue,
  Rewound,
  State,
  SwarmMerged,
  SwarmWorker,
  TextContent,
  Todo,
  UsageTotals,
  UserQuestion,
  WorkerInfo,
} from "../../sdks/typescript/src/rpc.ts";

/** A block of a message. `data` is base64, if the server sends pictures whole. */
export type ImageBlock = rpc.ImageContent & { data?: string };
export type Block = rpc.TextContent | ImageBlock | rpc.ToolCallContent | rpc.ToolResultContent;

export interface ClientInfo {
  client: string;
  device: string;
  watches?: boolean;
}

/** The first message of a connection. */
export interface Welcome {
  type: "welcome";
  conversation: string;
  cwd: string;
  run: string;
  seq: number;
  missed: boolean;
  client: string;
  driver: string;
  clients: ClientInfo[];
  open: Frame[];
  /** Panels and surfaces of extensions. */
  present?: Frame[];
}

export interface Response {
  type: "response";
  id?: string | number;
  command: string;
  success: boolean;
  data?: unknown;
  error?: string;
}

/** Any message of the server. Unknown types are shown in the timeline and nowhere else. */
export interface Frame {
  type: string;
  seq?: number;
  [key: string]: unknown;
}

export type Request =
  | rpc.ApprovalRequestEvent
  | rpc.QuestionRequestEvent
  | rpc.PlanRequestEvent
  | rpc.ElicitationRequestEvent
  | rpc.ExtDialogEvent;

/** A waiting prompt of the server, or of this page if the server lists none. */
export interface Queued {
  index?: number;
  text: string;
  images?: number;
}

export interface ConversationRow {
  conversation: string;
  cwd: string;
  title?: string;
  busy?: boolean;
  waiting?: number;
  clients?: ClientInfo[];
  driver?: string;
}

export interface Conversations {
  conversations: ConversationRow[];
  directory?: string;
  version?: string;
}

export interface SessionRow {
  conversation: string;
  id: string;
  title: string;
  cwd: string;
  updated: number | string;
  messages: number;
  cost: number;
  parent?: string;
  running?: boolean;
  snippet?: string;
}

export interface Sessions {
  sessions: SessionRow[];
  more: boolean;
}
