// What the methods of a client can be given, and a call's request made of it.
import { randomUUID } from "node:crypto";

import type { ChannelOptions } from "@grpc/grpc-js";

import type { CallRequest } from "../generated/switchboard/tools/v1/CallRequest.js";
import type { File } from "../generated/switchboard/tools/v1/File.js";
import type { Tls, Token } from "./channel.js";
import { renderJson } from "./exact.js";
import type { NativeOptions } from "./native.js";
import { checkCount, checkOptions, type Names } from "./options.js";
import type { ContentOptions, LineOptions, PageOptions } from "./results.js";
import { type Detail, type Dialect, type Risk, wireDialect } from "./tools.js";

export interface ClientOptions {
  tls?: Tls;
  token?: Token;
  /** Milliseconds for each RPC with all its attempts; 60,000 when left out, Infinity for no end. */
  timeoutMs?: number;
  /** How often a request is sent at most, where sending it again is safe; 5 when left out. */
  attempts?: number;
  channel?: ChannelOptions;
}

/** What any RPC can have. */
export interface RpcSettings {
  timeoutMs?: number;
  /** Ends the RPC, and with it the call in its sandbox. */
  signal?: AbortSignal;
}

/** A file for a tool, of which more is said than its content. */
export interface Upload {
  content: Uint8Array;
  /** Left out for what the content shows; what contradicts the content is refused. */
  mediaType?: string;
  /** Hex, of the content. A wrong one is refused. */
  sha256?: string;
}

/**
 * What a call can have beside tool and arguments; the proto file says more about each. Any other name is
 * a TypeError, for programs that no compiler reads, too; and so it is with the options of all methods.
 */
export interface CallOptions extends RpcSettings {
  conversationId?: string;
  idempotencyKey?: string;
  callId?: string;
  files?: Readonly<Record<string, Uint8Array | Upload>>;
  outputFiles?: readonly string[];
  approvalId?: string;
  waitForApproval?: boolean;
  /** In whose terms tool and arguments are written; the tool's own when left out. */
  dialect?: Dialect;
  /**
   * Tokens that the reply's data may take, estimated; 0 for no bound, less than 32 counts as 32.
   * `leftOut(reply)` says what had no place.
   */
  maxTokens?: number;
  /** The whole result, whatever the tool's summary fields say and however much of it is binary. */
  full?: boolean;
}

/** Which tools, and how they are described. */
export interface ListSettings extends RpcSettings {
  prefix?: string;
  dialect?: Dialect;
  detail?: Detail;
}

/** Among which tools is searched. */
export interface SearchSettings extends RpcSettings {
  limit?: number;
  prefix?: string;
  sources?: readonly string[];
  risks?: readonly Risk[];
  dialect?: Dialect;
  detail?: Detail;
}

/** How a batch runs. */
export interface BatchSettings extends RpcSettings {
  onFailure?: "continue" | "stop";
}

/** JSON text is sent as it stands. */
export type Arguments = object | string;

/**
 * After which failures a request is sent again. `refused`: after the daemon's own UNAVAILABLE and
 * RATE_LIMITED, which mean that nothing ran. `always`: also after a connection that broke, when the
 * tool may have run.
 */
export type Again = "always" | "refused" | "never";

// Which options there are.
export const RPC: Names<RpcSettings> = { timeoutMs: true, signal: true };
export const CLIENT: Names<ClientOptions> = {
  tls: true,
  token: true,
  timeoutMs: true,
  attempts: true,
  channel: true,
};
export const ENTRY: Names<Omit<CallOptions, keyof RpcSettings>> = {
  conversationId: true,
  idempotencyKey: true,
  callId: true,
  files: true,
  outputFiles: true,
  approvalId: true,
  waitForApproval: true,
  dialect: true,
  maxTokens: true,
  full: true,
};
export const CALL: Names<CallOptions> = { ...RPC, ...ENTRY };
export const GET: Names<RpcSettings & { dialect?: Dialect }> = { ...RPC, dialect: true };
export const LIST: Names<ListSettings> = { ...GET, prefix: true, detail: true };
export const SEARCH: Names<SearchSettings> = { ...LIST, limit: true, sources: true, risks: true };
export const NATIVE: Names<NativeOptions & RpcSettings> = {
  ...GET,
  conversationId: true,
  idempotencyPrefix: true,
  waitForApproval: true,
  textCalls: true,
  maxTokens: true,
};
const UPLOAD: Names<Upload> = { content: true, mediaType: true, sha256: true };
export const BATCH: Names<BatchSettings> = { ...RPC, onFailure: true };
export const CONTENT: Names<ContentOptions & RpcSettings> = { ...RPC, first: true, count: true, limit: true };
export const PAGE: Names<PageOptions & RpcSettings> = { ...CONTENT, maxTokens: true };
export const LINE: Names<LineOptions & RpcSettings> = { ...RPC, offset: true, limit: true };

/** An id can be used once. An equal call with the same key is answered with the first reply. */
export function again(options: CallOptions): Again {
  if (options.callId) return "never";
  return options.idempotencyKey ? "always" : "refused";
}

/** The id is made here, so that the call can be cancelled and looked up whatever happens to it. */
export function callRequest(tool: string, args: Arguments, options: CallOptions): CallRequest {
  return {
    toolName: tool,
    argumentsJson: typeof args === "string" ? args : renderJson(args),
    conversationId: options.conversationId ?? "",
    idempotencyKey: options.idempotencyKey ?? "",
    callId: options.callId || randomUUID(),
    files: Object.entries(options.files ?? {}).map(([name, given]) => file(name, given)),
    outputFiles: [...(options.outputFiles ?? [])],
    approvalId: options.approvalId ?? "",
    waitForApproval: options.waitForApproval ?? false,
    dialect: wireDialect(options.dialect),
    maxTokens: checkCount("maxTokens", options.maxTokens),
    full: options.full ?? false,
  };
}

function file(name: string, given: Uint8Array | Upload): File {
  if (given instanceof Uint8Array) return { name, content: given };
  checkOptions(`file \`${name}\``, given, UPLOAD);
  return { name, ...given };
}
