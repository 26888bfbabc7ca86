export type { Approval, Approvals, State } from "./approvals.js";
export { type Batch, type Entry, ref } from "./batches.js";
export type { Tls, Token } from "./channel.js";
export { Client } from "./client.js";
export type {
  Arguments,
  BatchSettings,
  CallOptions,
  ClientOptions,
  ListSettings,
  RpcSettings,
  SearchSettings,
  Upload,
} from "./core.js";
export { CallFailed, type Violation } from "./errors.js";
export type { Event } from "./events.js";
export type {
  Assembled,
  Consolidated,
  Decided,
  Evidence,
  Explained,
  MemoryStats,
  Recalled,
  Receipt,
  Refusal,
  Review,
  Stage,
  Unit,
  UnitState,
  Written,
} from "./evidence.js";
export { type Json, parseJson, renderJson } from "./exact.js";
export type {
  ContextSettings,
  Listing,
  Memory,
  Ready,
  RecallSettings,
  RememberSettings,
} from "./memories.js";
export type {
  Asking,
  Draft,
  Entity,
  Fact,
  Filter,
  Image,
  Kind,
  Picture,
  Place,
  Sense,
  Spot,
  Table,
  UnitOrigin,
  When,
} from "./memory.js";
export type { Message, NativeAnswer, NativeCall, NativeOptions, Provider, Reading } from "./native.js";
export type {
  Asked,
  Attempt,
  Item,
  Limits,
  RunAnswer,
  RunEnd,
  RunEvent,
  RunFailed,
  RunOptions,
  RunPartial,
  RunState,
  RunStep,
  RunSummary,
  Usage,
} from "./reason.js";
export {
  approvalId,
  type File,
  type Flag,
  type Metadata,
  type Origin,
  type Repair,
  type Reply,
  type ToolError,
} from "./replies.js";
export type { Content, ContentOptions, LineOptions, LinePage, Page, PageOptions } from "./results.js";
export type { Reason, ResumeSettings, RunsSettings, Trace } from "./runs.js";
export type {
  Detail,
  Dialect,
  Files,
  Give,
  Hit,
  HitList,
  Loss,
  Match,
  Risk,
  Take,
  Tool,
  ToolList,
  Verdict,
} from "./tools.js";
export { type Handle, handles, leftOut, type Rest, type View } from "./views.js";
export { status } from "@grpc/grpc-js";
export { LosslessNumber } from "lossless-json";
