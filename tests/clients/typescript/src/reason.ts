// What goes to the reasoning and what comes of it: questions, and the events of a run. What a tool or the
// memory gave stands in them as information, never as an instruction.
import type { Asked__Output } from "../generated/switchboard/reason/v1/Asked.js";
import type { Item__Output } from "../generated/switchboard/reason/v1/Item.js";
import type { RunEvent__Output } from "../generated/switchboard/reason/v1/RunEvent.js";
import type { RunRequest } from "../generated/switchboard/reason/v1/RunRequest.js";
import type { RunSummary__Output } from "../generated/switchboard/reason/v1/RunSummary.js";
import type { State as WireState, State__Output } from "../generated/switchboard/reason/v1/State.js";
import type { Usage__Output } from "../generated/switchboard/reason/v1/Usage.js";
import { RPC, type RpcSettings } from "./core.js";
import { type Json, maybeJson } from "./exact.js";
import { type When, wireTime } from "./memory.js";
import { checkChoice, checkCount, checkOptions, type Names } from "./options.js";

const STATES = ["running", "waiting", "answered", "partial", "failed", "cancelled"] as const;
export type RunState = (typeof STATES)[number];

/** What a run can have beside its question; the proto file says more about each. */
export interface RunOptions extends RpcSettings {
  agent?: string;
  conversationId?: string;
  /** The run that this question follows up. */
  previous?: string;
  asOf?: When;
  collections?: readonly string[];
  /** Questions to the reasoning model, at most; zero is a limit like others. */
  steps?: number;
  tokens?: number;
  /** A decimal number as text. */
  money?: string;
  wallMs?: number;
  /** Ends the run when its stream is left, or its time is over; else the run goes on. */
  cancelOnDrop?: boolean;
  noCache?: boolean;
}

/** What models took; money is a decimal number as text. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  money: string;
  estimated: boolean;
}

/** One attempt at an endpoint. */
export interface Attempt {
  endpoint: string;
  outcome: string;
  status: number;
  /** The part of what was sent that it was refused for. */
  part: string;
  message: string;
  waitedMs: number;
  tookMs: number;
}

/** One question to a model. */
export interface Asked {
  endpoint: string;
  model: string;
  usage: Usage;
  attempts: Attempt[];
}

/** One piece of evidence. */
export interface Item {
  label: string;
  kind: string;
  source: string;
  name: string;
  text: string;
  score: number;
  trust: number;
  untrusted: boolean;
}

/** What a run may take; undefined for what the daemon does not bound. */
export interface Limits {
  steps: number | undefined;
  tokens: number | undefined;
  money: string | undefined;
  wallMs: number | undefined;
}

export interface RunAnswer {
  kind: "answer";
  text: string;
  evidence: string[];
  decision: { value: string; step: string; holds: boolean; rule: string } | undefined;
  missing: string[];
  confidence: number;
  cached: boolean;
  usage: Usage;
  unsupported: string[];
  free: boolean;
  cacheAgeMs: number;
  cachedQuestion: string;
}

/** At a limit: what is known, and what is missing. */
export interface RunPartial {
  kind: "partial";
  limit: string;
  text: string;
  known: { label: string; text: string }[];
  missing: string[];
  usage: Usage;
}

export interface RunFailed {
  kind: "failed";
  code: string;
  message: string;
  usage: Usage;
}

/** How a run ends; exactly one of these comes, and nothing after it. */
export type RunEnd = RunAnswer | RunPartial | RunFailed | { kind: "cancelled" };

/** What happened. */
export type RunStep =
  | { kind: "started"; question: string; agent: string; limits: Limits; digest: string }
  | {
      kind: "routed";
      route: string;
      rewritten: string;
      rule: string;
      why: string;
      asked: Asked | undefined;
    }
  | { kind: "recalled"; question: string; items: Item[]; remarks: string[] }
  | {
      kind: "thought";
      text: string;
      asked: Asked | undefined;
      remarks: string[];
      answer: Json;
      calls: number;
    }
  | { kind: "rejected"; what: string; attempt: number; reasons: string[] }
  /** Arguments as the model wrote them, which need not be JSON. */
  | { kind: "action"; callId: string; tool: string; argumentsJson: string; approvalId: string }
  | { kind: "waiting"; callId: string; approvalId: string }
  | {
      kind: "observation";
      callId: string;
      tool: string;
      success: boolean;
      code: string;
      told: Json;
      item: Item | undefined;
    }
  | {
      kind: "evidence";
      id: string;
      type: string;
      evidence: string[];
      text: string;
      confidence: number;
      step: Json;
    }
  | { kind: "planned"; plan: Json; refusals: string[]; asked: Asked | undefined }
  | { kind: "message"; from: string; to: string; message: Json; refusals: string[]; items: Item[] }
  | { kind: "ruling"; ruling: Json; asked: Asked | undefined }
  | { kind: "resumed"; why: string }
  | RunEnd;

/** One event of a run. */
export interface RunEvent {
  seq: number;
  runId: string;
  step: number;
  time: Date;
  task: string;
  what: RunStep;
}

/** A run in short. */
export interface RunSummary {
  runId: string;
  state: RunState;
  question: string;
  agent: string;
  conversationId: string;
  started: Date;
  ended: Date | undefined;
  lastSeq: number;
  steps: number;
  usage: Usage;
  code: string;
}

export const RUN: Names<RunOptions> = {
  ...RPC,
  agent: true,
  conversationId: true,
  previous: true,
  asOf: true,
  collections: true,
  steps: true,
  tokens: true,
  money: true,
  wallMs: true,
  cancelOnDrop: true,
  noCache: true,
};

export function runRequest(question: string, options: RunOptions): RunRequest {
  checkOptions("a run", options, RUN);
  const { steps, tokens, money, wallMs } = options;
  const most = Number.MAX_SAFE_INTEGER;
  // Zero is a limit, and none is not.
  const limits = {
    ...(steps === undefined ? {} : { steps: checkCount("steps", steps) }),
    ...(tokens === undefined ? {} : { tokens: checkCount("tokens", tokens, most) }),
    ...(money === undefined ? {} : { money }),
    ...(wallMs === undefined ? {} : { wallMs: checkCount("wallMs", wallMs, most) }),
  };
  return {
    question,
    agent: options.agent ?? "",
    conversationId: options.conversationId ?? "",
    previousRunId: options.previous ?? "",
    asOf: wireTime(options.asOf),
    collections: [...(options.collections ?? [])],
    limits,
    cancelOnDrop: options.cancelOnDrop ?? false,
    noCache: options.noCache ?? false,
  };
}

export function wireStates(states: readonly RunState[]): WireState[] {
  const chosen = states.map((one) => checkChoice("states", one, STATES).toUpperCase());
  return chosen.map((one) => `STATE_${one}` as WireState);
}

export function stateFromWire(state: State__Output): RunState {
  return state.replace("STATE_", "").toLowerCase() as RunState;
}

/** Undefined for a kind that this version does not know. */
export function eventFromWire(wire: RunEvent__Output): RunEvent | undefined {
  const what = stepFromWire(wire);
  if (what === undefined) return undefined;
  const { seq, runId, step, task } = wire;
  return { seq, runId, step, time: new Date(wire.time), task, what };
}

export function endOf(event: RunEvent): RunEnd | undefined {
  const { what } = event;
  const ends =
    what.kind === "answer" ||
    what.kind === "partial" ||
    what.kind === "failed" ||
    what.kind === "cancelled";
  return ends ? what : undefined;
}

function stepFromWire(wire: RunEvent__Output): RunStep | undefined {
  if (wire.started) return startedFromWire(wire.started);
  if (wire.routed) {
    const { route, rewritten, rule, why, asked } = wire.routed;
    return { kind: "routed", route, rewritten, rule, why, asked: askedFromWire(asked) };
  }
  if (wire.recalled) {
    const { question, items, remarks } = wire.recalled;
    return { kind: "recalled", question, items: items.map(itemFromWire), remarks };
  }
  if (wire.thought) {
    const { text, asked, remarks, answerJson, calls } = wire.thought;
    const answer = maybeJson(answerJson);
    return { kind: "thought", text, asked: askedFromWire(asked), remarks, answer, calls };
  }
  if (wire.rejected) return { kind: "rejected", ...wire.rejected };
  if (wire.action) return { kind: "action", ...wire.action };
  if (wire.waiting) return { kind: "waiting", ...wire.waiting };
  if (wire.observation) {
    const { toldJson, item, ...rest } = wire.observation;
    const found = item ? itemFromWire(item) : undefined;
    return { kind: "observation", ...rest, told: maybeJson(toldJson), item: found };
  }
  if (wire.evidence) {
    const { kind: type, stepJson, ...rest } = wire.evidence;
    return { ...rest, kind: "evidence", type, step: maybeJson(stepJson) };
  }
  if (wire.planned) {
    const { planJson, refusals, asked } = wire.planned;
    return { kind: "planned", plan: maybeJson(planJson), refusals, asked: askedFromWire(asked) };
  }
  if (wire.message) {
    const { from, to, messageJson, refusals, items } = wire.message;
    const message = maybeJson(messageJson);
    return { kind: "message", from, to, message, refusals, items: items.map(itemFromWire) };
  }
  if (wire.ruling) {
    const { rulingJson, asked } = wire.ruling;
    return { kind: "ruling", ruling: maybeJson(rulingJson), asked: askedFromWire(asked) };
  }
  if (wire.resumed) return { kind: "resumed", why: wire.resumed.why };
  return endFromWire(wire);
}

function endFromWire(wire: RunEvent__Output): RunEnd | undefined {
  if (wire.answer) {
    const { decision, usage, ...rest } = wire.answer;
    const made = decision ?? undefined;
    return { kind: "answer", ...rest, decision: made, usage: usageFromWire(usage) };
  }
  if (wire.partial) {
    const { usage, ...rest } = wire.partial;
    return { kind: "partial", ...rest, usage: usageFromWire(usage) };
  }
  if (wire.failed) {
    const { code, message, usage } = wire.failed;
    return { kind: "failed", code, message, usage: usageFromWire(usage) };
  }
  return wire.cancelled ? { kind: "cancelled" } : undefined;
}

function startedFromWire(wire: NonNullable<RunEvent__Output["started"]>): RunStep {
  const { question, agent, digest, limits } = wire;
  const held = {
    steps: limits?.steps,
    tokens: limits?.tokens,
    money: limits?.money,
    wallMs: limits?.wallMs,
  };
  return { kind: "started", question, agent, limits: held, digest };
}

function usageFromWire(wire: Usage__Output | null): Usage {
  return {
    inputTokens: wire?.inputTokens ?? 0,
    outputTokens: wire?.outputTokens ?? 0,
    money: wire?.money || "0",
    estimated: wire?.estimated ?? false,
  };
}

function askedFromWire(wire: Asked__Output | null): Asked | undefined {
  if (!wire) return undefined;
  const { endpoint, model, usage, attempts } = wire;
  return { endpoint, model, usage: usageFromWire(usage), attempts };
}

function itemFromWire(wire: Item__Output): Item {
  return { ...wire };
}

export function summaryFromWire(wire: RunSummary__Output): RunSummary {
  return {
    runId: wire.runId,
    state: stateFromWire(wire.state),
    question: wire.question,
    agent: wire.agent,
    conversationId: wire.conversationId,
    started: new Date(wire.started),
    ended: wire.ended === "" ? undefined : new Date(wire.ended),
    lastSeq: wire.lastSeq,
    steps: wire.steps,
    usage: usageFromWire(wire.usage),
    code: wire.code,
  };
}
