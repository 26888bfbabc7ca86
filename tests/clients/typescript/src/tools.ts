// What is known of a tool, and the answer to whether a call of it would run.
import type { Dialect as WireDialect } from "../generated/switchboard/tools/v1/Dialect.js";
import type { ListToolsResponse__Output } from "../generated/switchboard/tools/v1/ListToolsResponse.js";
import type { Risk as WireRisk } from "../generated/switchboard/tools/v1/Risk.js";
import type { SearchToolsResponse__Output } from "../generated/switchboard/tools/v1/SearchToolsResponse.js";
import type { Tool__Output } from "../generated/switchboard/tools/v1/Tool.js";
import type { ValidateResponse__Output } from "../generated/switchboard/tools/v1/ValidateResponse.js";
import type { Detail as WireDetail } from "../generated/switchboard/tools/v1/Detail.js";
import { type Json, maybeJson } from "./exact.js";
import { checkChoice } from "./options.js";
import { type Repair, repair, type ToolError } from "./replies.js";

const RISKS = ["read", "write", "destructive", "outbound", "unspecified"] as const;
export type Risk = (typeof RISKS)[number];

const DIALECTS = ["openai", "openai_strict", "anthropic", "gemini", "plain"] as const;
/** In whose terms a tool is described, and a call of it written. */
export type Dialect = (typeof DIALECTS)[number];

/** One thing that a dialect cannot say as the input schema does. */
export interface Loss {
  pointer: string;
  keyword: string;
  message: string;
}

/** Files that a call may bring. */
export interface Take {
  count: number;
  /** Of all files together. */
  bytes: number;
  /** For example image/png, or image/* for all images; empty for any. */
  mediaTypes: string[];
}

/** Files that a call can have back. */
export interface Give {
  count: number;
  /** Of all files together. */
  bytes: number;
  /** The files there are, which come unasked. Empty: name them in `outputFiles`. */
  names: string[];
}

/** Which files a tool takes and gives. */
export interface Files {
  take: Take | undefined;
  give: Give | undefined;
  /** Name of the file that takes the place of data; empty for none. */
  stdout: string;
}

/** One tool, as much of it as a caller needs. */
export interface Tool {
  name: string;
  description: string;
  inputSchema: Json;
  /** Null when the tool declares none. */
  outputSchema: Json;
  risk: Risk;
  idempotent: boolean;
  /** Milliseconds for which a result may be served again; 0 for a tool that is not cacheable. */
  cacheTtlMs: number;
  /** Milliseconds after which a call is killed. */
  timeoutMs: number;
  source: string;
  digest: string;
  /** The element of `tools` for the dialect that was asked for; null without one. */
  definition: Json;
  losses: Loss[];
  /** About how many tokens the whole definition costs a model that is given it. */
  tokens: number;
  /** Names of the arguments, in compact detail. */
  arguments: string[];
  /** Those of them that no call can do without. */
  required: string[];
  /** Undefined for a tool without any. */
  files: Files | undefined;
  /** The operation of the OpenAPI document that it was made of; empty for a manifest's tool. */
  operation: string;
}

/** Tools, by name. */
export type ToolList = Tool[] & {
  /** SHA-256 (hex) of the whole catalog; changes when any tool changes. */
  catalogDigest: string;
};

const DETAILS = ["full", "compact"] as const;
/** How much of a tool is told; compact is enough to choose by. */
export type Detail = (typeof DETAILS)[number];

/** What of a question was found in a tool. */
export interface Match {
  /** Of the question. */
  word: string;
  /** What stands in the tool; of an English word its stem. */
  found: string;
  /** word, synonym, prefix or spelling. */
  how: string;
  /** name, description, arguments, source. */
  fields: string[];
}

/** A tool that was found, and how well it fits; scores compare within one answer only. */
export interface Hit {
  tool: Tool;
  score: number;
  matches: Match[];
}

/** Tools that were found, best first. */
export type HitList = Hit[] & {
  /** Tools that have any word of the question, also those beyond the limit. */
  total: number;
  /** SHA-256 (hex) of the whole catalog; changes when any tool changes. */
  catalogDigest: string;
};

/** Whether a call would run, and with which arguments. */
export interface Verdict {
  valid: boolean;
  tool: string;
  /** After every repair; null when the call would not run. */
  arguments: Json;
  repairs: Repair[];
  error: ToolError | undefined;
  policies: string[];
}

export function toolFromWire(wire: Tool__Output): Tool {
  return {
    name: wire.name,
    description: wire.description,
    inputSchema: maybeJson(wire.inputSchemaJson),
    outputSchema: maybeJson(wire.outputSchemaJson),
    risk: wire.risk.replace("RISK_", "").toLowerCase() as Risk,
    idempotent: wire.idempotent,
    cacheTtlMs: wire.cacheTtlMs,
    timeoutMs: wire.timeoutMs,
    source: wire.source,
    digest: wire.digest,
    definition: maybeJson(wire.definitionJson),
    losses: wire.losses,
    tokens: wire.tokens,
    arguments: wire.arguments.map((argument) => argument.name),
    required: wire.arguments.filter((argument) => argument.required).map(({ name }) => name),
    files: wire.files
      ? {
          take: wire.files.take ?? undefined,
          give: wire.files.give ?? undefined,
          stdout: wire.files.stdout,
        }
      : undefined,
    operation: wire.operation,
  };
}

export function toolsFromWire(pages: readonly ListToolsResponse__Output[]): ToolList {
  const tools = pages.flatMap((page) => page.tools.map(toolFromWire));
  // Of the first page: a catalog that changed meanwhile is seen to have changed.
  return Object.assign(tools, { catalogDigest: pages[0]?.catalogDigest ?? "" });
}

export function hitsFromWire({ hits, total, catalogDigest }: SearchToolsResponse__Output): HitList {
  const found = hits.flatMap(({ tool, score, matches }) =>
    tool ? [{ tool: toolFromWire(tool), score, matches }] : [],
  );
  return Object.assign(found, { total, catalogDigest });
}

export function verdictFromWire(wire: ValidateResponse__Output): Verdict {
  return {
    valid: wire.valid,
    tool: wire.toolName,
    arguments: maybeJson(wire.argumentsJson),
    repairs: wire.repairs.map(repair),
    error: wire.error
      ? {
          code: wire.error.code,
          message: wire.error.message,
          details: maybeJson(wire.error.detailsJson),
          retryable: wire.error.retryable,
        }
      : undefined,
    policies: wire.policies,
  };
}

export function wireDialect(dialect: Dialect | undefined): WireDialect {
  const chosen = dialect === undefined ? "unspecified" : checkChoice("dialect", dialect, DIALECTS);
  return `DIALECT_${chosen.toUpperCase()}` as WireDialect;
}

export function wireDetail(detail: Detail | undefined): WireDetail {
  return `DETAIL_${checkChoice("detail", detail ?? "full", DETAILS).toUpperCase()}` as WireDetail;
}

export function wireRisk(risk: Risk): WireRisk {
  return `RISK_${checkChoice("risks", risk, RISKS).toUpperCase()}` as WireRisk;
}
