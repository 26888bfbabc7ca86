export type { Approval, Approvals, State } from "./approvals.js";
export { type Batch, type Entry, ref } from "./batches.js";
export type { Tls, Token } from "./channel.js";
export {
  type Arguments,
  type CallOptions,
  Client,
  type ClientOptions,
  type ListSettings,
  type RpcSettings,
  type SearchSettings,
} from "./client.js";
export { CallFailed, type Violation } from "./errors.js";
export type { Event } from "./events.js";
export { type Json, parseJson, renderJson } from "./exact.js";
export type { Message, NativeAnswer, NativeCall, NativeOptions, Provider, Reading } from "./native.js";
export { approvalId, type File, type Metadata, type Repair, type Reply, type ToolError } from "./replies.js";
export type { Detail, Dialect, Hit, Loss, Risk, Tool, Verdict } from "./tools.js";
export { status } from "@grpc/grpc-js";
export { LosslessNumber } from "lossless-json";
