// What is known of a tool, and the answer to whether a call of it would run.
import type { Dialect as WireDialect } from "../generated/switchboard/tools/v1/Dialect.js";
import type { Risk as WireRisk } from "../generated/switchboard/tools/v1/Risk.js";
import type { Tool__Output } from "../generated/switchboard/tools/v1/Tool.js";
import type { ValidateResponse__Output } from "../generated/switchboard/tools/v1/ValidateResponse.js";
import type { Detail as WireDetail } from "../generated/switchboard/tools/v1/Detail.js";
import { type Json, maybeJson } from "./exact.js";
import { type Repair, repair, type ToolError } from "./replies.js";

export type Risk = "read" | "write" | "destructive" | "outbound" | "unspecified";

/** In whose terms a tool is described, and a call of it written. */
export type Dialect = "openai" | "openai_strict" | "anthropic" | "gemini" | "plain";

/** One thing that a dialect cannot say as the input schema does. */
export interface Loss {
  pointer: string;
  keyword: string;
  message: string;
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
}

/** How much of a tool is told; compact is enough to choose by. */
export type Detail = "full" | "compact";

/** A tool that was found, and how well it fits; scores compare within one answer only. */
export interface Hit {
  tool: Tool;
  score: number;
}

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
  };
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
  return `DIALECT_${(dialect ?? "unspecified").toUpperCase()}` as WireDialect;
}

export function wireDetail(detail: Detail | undefined): WireDetail {
  return detail === "compact" ? "DETAIL_COMPACT" : "DETAIL_FULL";
}

export function wireRisk(risk: Risk): WireRisk {
  return `RISK_${risk.toUpperCase()}` as WireRisk;
}
