// What comes back from a call: one shape, whatever the tool was.
import type { Reply__Output } from "../generated/switchboard/tools/v1/Reply.js";
import { type Json, parseJson } from "./exact.js";
import type { View } from "./views.js";

/** A file that a tool gave. */
export interface File {
  name: string;
  mediaType: string;
  sha256: string;
  size: number;
  /** Undefined in a reply that was read again: contents are kept nowhere. */
  content: Buffer | undefined;
}

/** Why there is no result, for the model to read. */
export interface ToolError {
  /** Stable; the proto file lists all codes and says what to do about each. */
  code: string;
  message: string;
  details: Json;
  /** Whether the same call, unchanged, may succeed later. */
  retryable: boolean;
}

/** One change of the arguments, made only where nothing is lost. */
export interface Repair {
  kind: string;
  /** JSON Pointer of the place after the repair. */
  pointer: string;
  /** JSON text; empty when there was nothing. */
  before: string;
  after: string;
}

/** Where a result comes from: it is information, never instructions. */
export interface Origin {
  tool: string;
  /** The manifest or OpenAPI source that defines the tool. */
  source: string;
  /** `host:port` of each place that the run was connected to, the first 32. */
  hosts: string[];
}

/** A place in a result that reads like an instruction to a model. */
export interface Flag {
  /** JSON Pointer into the full reply, for `resultPage`. */
  pointer: string;
  rule: string;
  reading: string;
  excerpt: string;
}

/** Figures of a call. */
export interface Metadata {
  callId: string;
  latencyMs: number;
  cacheHit: boolean;
  /** Milliseconds since the cached result was made; undefined without a hit. */
  cacheAgeMs: number | undefined;
  repairs: Repair[];
  /** hit, waited or cold; empty when nothing ran. */
  pool: string;
  /** Milliseconds of waiting for a container; undefined, as the next two, when nothing ran. */
  queueMs: number | undefined;
  /** Milliseconds of sandbox work around the tool. */
  sandboxMs: number | undefined;
  /** Milliseconds of the tool itself. */
  toolMs: number | undefined;
  outputTruncated: boolean;
  /** Milliseconds to wait before the call is sent again. */
  retryAfterMs: number | undefined;
  /** What the reply brings into its conversation: outside, flagged, unsearched. */
  taint: string[];
  /** Where data and files come from; undefined when no tool ran. */
  origin: Origin | undefined;
  /** What in them reads like an instruction, the first 16 places. None found proves nothing. */
  flags: Flag[];
  /** How much of the result data holds; undefined when that is all. */
  view: View | undefined;
  /** All members, as the reply's JSON has them. */
  more: { [key: string]: Json };
}

interface Common {
  tool: string;
  /** The result, or what `metadata.view` says of it, with exact numbers. An error can carry data, too. */
  data: Json;
  metadata: Metadata;
  files: File[];
  /** The whole reply as it came: one line of JSON. */
  json: string;
}

/** The reply to a call. An error of the tool, the arguments or the policy is a reply, too. */
export type Reply =
  | (Common & { status: "success"; error: undefined })
  | (Common & { status: "error"; error: ToolError });

/** The approval that the call needs first, when that is what its reply says. */
export function approvalId(reply: Reply): string | undefined {
  if (reply.error?.code !== "APPROVAL_REQUIRED") return undefined;
  const id = member(reply.error.details, "approval_id");
  return typeof id === "string" ? id : undefined;
}

export function replyFromWire(wire: Reply__Output): Reply {
  return replyFromJson(wire.json, new Map(wire.files.map((file) => [file.name, file.content])));
}

/** Reads a reply's one line of JSON, as GetResult and the ledger give it. */
export function replyFromJson(json: string, contents: ReadonlyMap<string, Buffer> = new Map()): Reply {
  // The shape is the daemon's promise (RawReply); numbers in it are all small.
  const raw = parseJson(json) as unknown as RawReply;
  const common = {
    tool: raw.tool_name,
    data: raw.data,
    metadata: metadata(raw.metadata),
    files: (raw.metadata.files ?? []).map((file) => ({
      name: file.name,
      mediaType: file.media_type,
      sha256: file.sha256,
      size: file.bytes,
      content: contents.get(file.name),
    })),
    json,
  };
  return raw.error
    ? { ...common, status: "error", error: raw.error }
    : { ...common, status: "success", error: undefined };
}

interface RawReply {
  tool_name: string;
  data: Json;
  error: ToolError | null;
  metadata: RawMetadata;
}

interface RawMetadata {
  call_id: string;
  latency_ms: unknown;
  cache_hit: boolean;
  cache_age_ms?: unknown;
  repairs: RawRepair[];
  pool: string | null;
  queue_ms?: unknown;
  sandbox_ms?: unknown;
  tool_ms?: unknown;
  output_truncated: boolean;
  retry_after_ms?: unknown;
  taint?: string[];
  origin?: { tool: string; source: string; hosts?: string[] };
  flags?: Flag[];
  view?: RawView;
  files?: { name: string; media_type: string; sha256: string; bytes: number }[];
}

interface RawView {
  summary: boolean;
  left_out: number;
  handles: number;
  tokens: number;
  full_tokens: number;
  full_bytes: number;
  unmatched?: string[];
}

interface RawRepair {
  kind: string;
  pointer: string;
  from?: string | null;
  to?: string | null;
}

/** From a reply's JSON or from the wire. */
export function repair({ kind, pointer, from, to }: RawRepair): Repair {
  return { kind, pointer, before: from ?? "", after: to ?? "" };
}

function metadata(raw: RawMetadata): Metadata {
  return {
    callId: raw.call_id,
    latencyMs: Number(raw.latency_ms),
    cacheHit: raw.cache_hit,
    cacheAgeMs: maybeNumber(raw.cache_age_ms),
    repairs: raw.repairs.map(repair),
    pool: raw.pool ?? "",
    queueMs: maybeNumber(raw.queue_ms),
    sandboxMs: maybeNumber(raw.sandbox_ms),
    toolMs: maybeNumber(raw.tool_ms),
    outputTruncated: raw.output_truncated,
    retryAfterMs: maybeNumber(raw.retry_after_ms),
    taint: raw.taint ?? [],
    origin: raw.origin && { ...raw.origin, hosts: raw.origin.hosts ?? [] },
    flags: raw.flags ?? [],
    view: raw.view && view(raw.view),
    more: raw as unknown as { [key: string]: Json },
  };
}

function maybeNumber(number: unknown): number | undefined {
  return number === undefined || number === null ? undefined : Number(number);
}

function view(raw: RawView): View {
  return {
    summary: raw.summary,
    leftOut: raw.left_out,
    handles: raw.handles,
    tokens: raw.tokens,
    fullTokens: raw.full_tokens,
    fullBytes: raw.full_bytes,
    unmatched: raw.unmatched ?? [],
  };
}

function member(value: Json, key: string): Json | undefined {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as { [key: string]: Json })[key]
    : undefined;
}
