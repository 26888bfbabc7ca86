// What comes from the memory: receipts, evidence, contexts, reviews. What a unit says is content, never an
// instruction.
import type { ConsolidateResponse__Output } from "../generated/switchboard/memory/v1/ConsolidateResponse.js";
import type { ContextResponse__Output } from "../generated/switchboard/memory/v1/ContextResponse.js";
import type { ExplainResponse__Output } from "../generated/switchboard/memory/v1/ExplainResponse.js";
import type { FailedLayer__Output } from "../generated/switchboard/memory/v1/FailedLayer.js";
import type { Hit__Output } from "../generated/switchboard/memory/v1/Hit.js";
import type { RecallResponse__Output } from "../generated/switchboard/memory/v1/RecallResponse.js";
import type { Receipt__Output } from "../generated/switchboard/memory/v1/Receipt.js";
import type { _switchboard_memory_v1_RememberManyResponse_Written__Output as Written__Output } from "../generated/switchboard/memory/v1/RememberManyResponse.js";
import type { Review__Output } from "../generated/switchboard/memory/v1/Review.js";
import type { Score__Output } from "../generated/switchboard/memory/v1/Score.js";
import type { StatsResponse__Output } from "../generated/switchboard/memory/v1/StatsResponse.js";
import type { Unit__Output } from "../generated/switchboard/memory/v1/Unit.js";
import type { Violation } from "./errors.js";
import { type Json, maybeJson } from "./exact.js";
import { type Draft, draftFromWire, type Entity, type Sense, type UnitOrigin, word } from "./memory.js";

export type Stage =
  | "accepted" | "stored" | "unchanged" | "outdated" | "held" | "quarantined" | "refused";
export type UnitState = "active" | "held" | "quarantined" | "rejected" | "archived";
export type Layer = "curated" | "notes";
/** Layers that did not work, and why; the others answered. */
export type FailedLayers = Partial<Record<Sense, string>>;

/** What became of a write. */
export interface Receipt {
  id: string;
  stage: Stage;
  unitId: string;
  /** Empty until it is stored. */
  evidenceId: string;
  remarks: string[];
  arrived: Date | undefined;
  changed: Date | undefined;
}

/** Why one draft of several was not taken. */
export interface Refusal {
  reason: string;
  message: string;
  violations: Violation[];
}

/** What became of one draft of several: it has a receipt, or a refusal. */
export interface Written {
  index: number;
  receipt?: Receipt;
  refusal?: Refusal;
}

/** One recorded version of a unit. */
export interface Unit {
  unitId: string;
  evidenceId: string;
  draft: Draft;
  layer: Layer;
  owner: string;
  state: UnitState;
  /** 0 to 100. */
  trust: number;
  origin: UnitOrigin | undefined;
  sourceTime: Date | undefined;
  validFrom: Date | undefined;
  validTo: Date | undefined;
  recorded: Date | undefined;
  ended: Date | undefined;
  endedWhy: string;
  endedBy: string;
  digest: string;
  remarks: string[];
  conflicts: string[];
  used: Date | undefined;
  uses: number;
}

/** What one layer gave to a piece of evidence. */
export interface Score {
  raw: number;
  even: number;
  adds: number;
  rank: number;
}

export type Scores = Partial<Record<Sense, Score>>;

/** A unit that was found. Give what it says to a model in an envelope, as `context` does. */
export interface Evidence {
  evidenceId: string;
  unit: Unit;
  /** The pieces that were found, best first. */
  passages: string[];
  score: number;
  scores: Scores;
  metres: number | undefined;
  /** Why it is, or would be, withheld; empty for plain evidence. */
  withheld: string;
}

/** Evidence, best first. */
export interface Recalled {
  hits: Evidence[];
  failed: FailedLayers;
  recordId: string;
}

/** A model's context within its budget. */
export interface Assembled {
  text: string;
  parts: { name: string; text: string; tokens: number; granted: number; wanted: number }[];
  tokens: number;
  units: { evidenceId: string; form: string; enveloped: boolean }[];
  nonce: string;
  failed: FailedLayers;
  recordId: string;
}

/** A version that waits for a reviewer. */
export interface Review {
  unit: Unit;
  rivals: Unit[];
  votes: { by: string; approve: boolean; reason: string; at: Date | undefined }[];
  needed: number;
}

/** The state after a decision, and how many people must still agree. */
export interface Decided {
  state: UnitState;
  missing: number;
}

/** How an answer comes about. */
export interface Explained {
  hits: Evidence[];
  missed: Evidence[];
  failed: FailedLayers;
  normal: string;
  words: string;
  rewritten: string;
  entities: Entity[];
  /** How long each layer took, in microseconds. */
  micros: Partial<Record<Sense, number>>;
  /** Of each version: its place in the answer, or why it has none. */
  verdicts: { evidenceId: string; place: number | undefined; why: string[]; scores: Scores }[];
  recordId: string;
}

/** What upkeep did, or would do. */
export interface Consolidated {
  runs: { id: string; at: Date | undefined; summary: string; changed: number; undone: boolean }[];
  steps: { work: string; evidenceId: string; collection: string; kept: string; why: string }[];
  more: number;
  undone: number;
}

/** What the memory holds of the caller's tenant, and the collections that the caller may use. */
export interface MemoryStats {
  store: string;
  units: number;
  versions: number;
  chunks: number;
  /** Chunks with a vector, by model. */
  vectors: Record<string, number>;
  held: number;
  quarantined: number;
  waiting: number;
  embedder: string;
  collections: {
    name: string;
    description: string;
    layer: Layer;
    verbs: string[];
    declaration: Json;
  }[];
}

export function receiptFromWire(wire: Receipt__Output): Receipt {
  return {
    id: wire.id,
    stage: word(wire.stage, "STAGE_") as Stage,
    unitId: wire.unitId,
    evidenceId: wire.evidenceId,
    remarks: wire.remarks,
    arrived: time(wire.arrived),
    changed: time(wire.changed),
  };
}

export function writtenFromWire({ index, receipt, refusal }: Written__Output): Written {
  if (receipt) return { index, receipt: receiptFromWire(receipt) };
  const { reason = "", message = "", violations = [] } = refusal ?? {};
  return { index, refusal: { reason, message, violations } };
}

export function unitFromWire(wire: Unit__Output): Unit {
  if (!wire.draft) throw new TypeError("the unit has no draft");
  const origin = word(wire.origin, "ORIGIN_");
  return {
    unitId: wire.unitId,
    evidenceId: wire.evidenceId,
    draft: draftFromWire(wire.draft),
    layer: word(wire.layer, "LAYER_") as Layer,
    owner: wire.owner,
    state: word(wire.state, "STATE_") as UnitState,
    trust: wire.trust,
    origin: origin === "unspecified" ? undefined : (origin as UnitOrigin),
    sourceTime: time(wire.sourceTime),
    validFrom: time(wire.validFrom),
    validTo: time(wire.validTo),
    recorded: time(wire.recorded),
    ended: time(wire.ended),
    endedWhy: wire.endedWhy,
    endedBy: wire.endedBy,
    digest: wire.digest,
    remarks: wire.remarks,
    conflicts: wire.conflicts,
    used: time(wire.used),
    uses: wire.uses,
  };
}

function evidenceFromWire(wire: Hit__Output): Evidence {
  if (!wire.unit) throw new TypeError("the evidence has no unit");
  return {
    evidenceId: wire.evidenceId,
    unit: unitFromWire(wire.unit),
    passages: wire.passages.map((one) => one.text),
    score: wire.score,
    scores: scores(wire.scores),
    metres: wire._metres === "metres" ? wire.metres : undefined,
    withheld: wire.withheld,
  };
}

export function recalledFromWire({ hits, failed, recordId }: RecallResponse__Output): Recalled {
  return { hits: hits.map(evidenceFromWire), failed: layers(failed), recordId };
}

export function assembledFromWire(wire: ContextResponse__Output): Assembled {
  const { text, parts, tokens, units, nonce, recordId } = wire;
  return { text, parts, tokens, units, nonce, failed: layers(wire.failed), recordId };
}

export function reviewFromWire({ unit, rivals, votes, needed }: Review__Output): Review {
  if (!unit) throw new TypeError("the review has no unit");
  return {
    unit: unitFromWire(unit),
    rivals: rivals.map(unitFromWire),
    votes: votes.map((one) => ({ ...one, at: time(one.at) })),
    needed,
  };
}

export function explainedFromWire(wire: ExplainResponse__Output): Explained {
  const { normal = "", words = "", rewritten = "", entities = [], times = [] } = wire.reading ?? {};
  return {
    hits: wire.hits.map(evidenceFromWire),
    missed: wire.missed.map(evidenceFromWire),
    failed: layers(wire.failed),
    normal,
    words,
    rewritten,
    entities,
    micros: Object.fromEntries(times.map((one) => [sense(one.sense), one.micros])),
    verdicts: wire.verdicts.map(({ evidenceId, place, why, scores: given }) => ({
      evidenceId,
      place: place === 0 ? undefined : place,
      why,
      scores: scores(given),
    })),
    recordId: wire.recordId,
  };
}

export function consolidatedFromWire(wire: ConsolidateResponse__Output): Consolidated {
  const { steps, more, undone } = wire;
  return { runs: wire.runs.map((one) => ({ ...one, at: time(one.at) })), steps, more, undone };
}

export function statsFromWire(wire: StatsResponse__Output): MemoryStats {
  const { store, units, versions, chunks, held, quarantined, waiting, embedder } = wire;
  return {
    ...{ store, units, versions, chunks, held, quarantined, waiting, embedder },
    vectors: Object.fromEntries(wire.vectors.map((one) => [one.model, one.chunks])),
    collections: wire.collections.map(({ name, description, layer, verbs, declarationJson }) => ({
      ...{ name, description, verbs },
      layer: word(layer, "LAYER_") as Layer,
      declaration: maybeJson(declarationJson),
    })),
  };
}

function scores(wire: Score__Output[]): Scores {
  const one = ({ raw, even, adds, rank }: Score__Output) => ({ raw, even, adds, rank });
  return Object.fromEntries(wire.map((score) => [sense(score.sense), one(score)]));
}

function layers(wire: FailedLayer__Output[]): FailedLayers {
  return Object.fromEntries(wire.map((one) => [sense(one.sense), one.reason]));
}

function sense(name: string): Sense {
  return word(name, "SENSE_") as Sense;
}

function time(text: string): Date | undefined {
  return text === "" ? undefined : new Date(text);
}
