// What goes to the memory: drafts of units, and questions. The proto file says more about each field.
import type { Draft as WireDraft, Draft__Output } from "../generated/switchboard/memory/v1/Draft.js";
import type { Filter as WireFilter } from "../generated/switchboard/memory/v1/Filter.js";
import type { Question as WireQuestion } from "../generated/switchboard/memory/v1/Question.js";
import type { Spot as WireSpot } from "../generated/switchboard/memory/v1/Spot.js";
import { RPC, type RpcSettings } from "./core.js";
import { type Json, maybeJson, renderJson } from "./exact.js";
import { checkChoice, checkCount, checkOptions, type Names } from "./options.js";

const KINDS = ["knowledge", "case", "preference", "result"] as const;
const ORIGINS = ["curator", "person", "model", "tool", "file", "web"] as const;
const SENSES = [
  ...(["trigger", "entity", "words", "vector", "neighbour", "image", "place"] as const),
  ...(["recency", "rerank", "rewrite"] as const),
] as const;
const COMPARES = ["any", "none", "less", "at_most", "more", "at_least"] as const;
export type Kind = (typeof KINDS)[number];
export type UnitOrigin = (typeof ORIGINS)[number];
export type Sense = (typeof SENSES)[number];
export type Compare = (typeof COMPARES)[number];
/** RFC 3339, or a date alone; without an offset it is in the zone of the collection, or the question. */
export type When = string | Date;

/** A business entity: a customer, a contract, a part. */
export interface Entity {
  kind: string;
  value: string;
}

/** A statement that can contradict another unit's. */
export interface Fact {
  entity: string;
  attribute: string;
  value: string;
  unit?: string;
}

/** Degrees on WGS 84, and what is there. */
export interface Place {
  latitude: number;
  longitude: number;
  type?: string;
}

export interface Table {
  caption?: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** An image by reference, with what is known of it. */
export interface Image {
  sha256: string;
  uri?: string;
  mediaType?: string;
  description?: string;
  ocrText?: string;
  vectorModel?: string;
  vector?: readonly number[];
}

/** An image with its bytes, which the daemon reads, and does not keep. */
export interface Picture {
  content: Uint8Array;
  uri?: string;
  vectorModel?: string;
  vector?: readonly number[];
}

/**
 * A unit as it is written. A later draft with the same collection, source and source id takes the place
 * of an earlier one; which is later, `sourceTime` decides.
 */
export interface Draft {
  collection: string;
  source: string;
  sourceId: string;
  kind: Kind;
  text?: string;
  value?: string;
  key?: string;
  triggers?: readonly string[];
  metadata?: Readonly<Record<string, unknown>>;
  sourceTime?: When;
  validFrom?: When;
  /** Exclusive; a date alone still counts whole. */
  validTo?: When;
  origin?: UnitOrigin;
  entities?: readonly Entity[];
  facts?: readonly Fact[];
  place?: Place;
  images?: readonly Image[];
  tables?: readonly Table[];
  group?: string;
  position?: number;
  speaker?: string;
  derivedFrom?: readonly string[];
  supersedes?: string;
}

/** A condition on metadata, or on source, source_id, group, kind or origin. */
export interface Filter {
  field: string;
  compare: Compare;
  values: readonly unknown[];
}

/** Where a unit has to be: at most so many metres away, or inside a ring of latitudes and longitudes. */
export type Spot = { types?: readonly string[] } & (
  | { latitude: number; longitude: number; metres: number }
  | { ring: readonly (readonly [number, number])[] }
);

/** What a question can have beside its text. */
export interface Asking extends RpcSettings {
  conversation?: readonly string[];
  entities?: readonly Entity[];
  collections?: readonly string[];
  topK?: number;
  threshold?: number;
  /** What does not hold then does not come back; now when left out. */
  asOf?: When;
  /** What was known when; now when left out. */
  knownAt?: When;
  timeZone?: string;
  kinds?: readonly Kind[];
  filters?: readonly Filter[];
  spot?: Spot;
  nearest?: { latitude: number; longitude: number; types?: readonly string[] };
  image?: { model: string; vector: readonly number[] };
  /** Also what waits for a reviewer; it is marked. */
  held?: boolean;
  archived?: boolean;
  without?: readonly Sense[];
}

export const ASKING: Names<Asking> = {
  ...RPC,
  conversation: true,
  entities: true,
  collections: true,
  topK: true,
  threshold: true,
  asOf: true,
  knownAt: true,
  timeZone: true,
  kinds: true,
  filters: true,
  spot: true,
  nearest: true,
  image: true,
  held: true,
  archived: true,
  without: true,
};
const DRAFT: Names<Draft> = {
  collection: true,
  source: true,
  sourceId: true,
  kind: true,
  text: true,
  value: true,
  key: true,
  triggers: true,
  metadata: true,
  sourceTime: true,
  validFrom: true,
  validTo: true,
  origin: true,
  entities: true,
  facts: true,
  place: true,
  images: true,
  tables: true,
  group: true,
  position: true,
  speaker: true,
  derivedFrom: true,
  supersedes: true,
};

export function wireDraft(draft: Draft): WireDraft {
  checkOptions("a draft", draft, DRAFT);
  const { metadata, origin, position, place } = draft;
  return {
    collection: draft.collection,
    source: draft.source,
    sourceId: draft.sourceId,
    kind: wireKind(draft.kind),
    text: draft.text ?? "",
    value: draft.value ?? "",
    key: draft.key ?? "",
    triggers: [...(draft.triggers ?? [])],
    metadataJson: metadata === undefined ? "" : renderJson(metadata),
    sourceTime: wireTime(draft.sourceTime),
    validFrom: wireTime(draft.validFrom),
    validTo: wireTime(draft.validTo),
    origin: origin ? `ORIGIN_${upper(checkChoice("origin", origin, ORIGINS))}` : "ORIGIN_UNSPECIFIED",
    entities: [...(draft.entities ?? [])],
    facts: [...(draft.facts ?? [])],
    images: (draft.images ?? []).map((one) => ({ ...one, vector: [...(one.vector ?? [])] })),
    tables: (draft.tables ?? []).map((one) => ({
      caption: one.caption ?? "",
      columns: [...one.columns],
      rows: one.rows.map((cells) => ({ cells: [...cells] })),
    })),
    group: draft.group ?? "",
    speaker: draft.speaker ?? "",
    derivedFrom: [...(draft.derivedFrom ?? [])],
    supersedes: draft.supersedes ?? "",
    ...(place === undefined ? {} : { place }),
    ...(position === undefined ? {} : { position }),
  };
}

/** What is empty is left out. */
export function draftFromWire(wire: Draft__Output): Draft {
  const metadata = maybeJson(wire.metadataJson) as Record<string, Json> | null;
  const origin = word(wire.origin, "ORIGIN_");
  const draft = {
    collection: wire.collection,
    source: wire.source,
    sourceId: wire.sourceId,
    kind: word(wire.kind, "KIND_") as Kind,
    text: wire.text,
    value: wire.value,
    key: wire.key,
    triggers: wire.triggers,
    sourceTime: wire.sourceTime,
    validFrom: wire.validFrom,
    validTo: wire.validTo,
    entities: wire.entities,
    facts: wire.facts,
    images: wire.images,
    tables: wire.tables.map(({ caption, columns, rows }) => ({
      caption,
      columns,
      rows: rows.map((row) => row.cells),
    })),
    group: wire.group,
    speaker: wire.speaker,
    derivedFrom: wire.derivedFrom,
    supersedes: wire.supersedes,
    ...(metadata === null ? {} : { metadata }),
    ...(origin === "unspecified" ? {} : { origin: origin as UnitOrigin }),
    ...(wire.place ? { place: wire.place } : {}),
    ...(wire._position === "position" ? { position: wire.position as number } : {}),
  };
  const full = ([, value]: [string, unknown]) => value !== "" && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(draft).filter(full)) as unknown as Draft;
}

export function wirePictures(pictures: readonly Picture[]) {
  return pictures.map((one) => ({ ...one, vector: [...(one.vector ?? [])] }));
}

export function wireQuestion(text: string, asking: Asking): WireQuestion {
  const { threshold, nearest, image, spot } = asking;
  return {
    text,
    conversation: [...(asking.conversation ?? [])],
    entities: [...(asking.entities ?? [])],
    collections: [...(asking.collections ?? [])],
    topK: checkCount("topK", asking.topK),
    asOf: wireTime(asking.asOf),
    knownAt: wireTime(asking.knownAt),
    timeZone: asking.timeZone ?? "",
    kinds: (asking.kinds ?? []).map(wireKind),
    filters: (asking.filters ?? []).map(wireFilter),
    held: asking.held ?? false,
    archived: asking.archived ?? false,
    without: (asking.without ?? []).map(
      (one) => `SENSE_${upper(checkChoice("without", one, SENSES))}` as const,
    ),
    ...(threshold === undefined ? {} : { threshold }),
    ...(spot === undefined ? {} : { spot: wireSpot(spot) }),
    ...(image === undefined ? {} : { image: { model: image.model, vector: [...image.vector] } }),
    ...(nearest === undefined
      ? {}
      : { nearest: { point: nearest, types: [...(nearest.types ?? [])] } }),
  };
}

export function wireFilter(filter: Filter): WireFilter {
  return {
    field: filter.field,
    compare: `COMPARE_${upper(checkChoice("compare", filter.compare, COMPARES))}`,
    valuesJson: filter.values.map(renderJson),
  };
}

export function wireSpot(spot: Spot): WireSpot {
  const types = [...(spot.types ?? [])];
  if ("ring" in spot) {
    return { types, area: { ring: spot.ring.map(([latitude, longitude]) => ({ latitude, longitude })) } };
  }
  const { latitude, longitude, metres } = spot;
  return { types, within: { center: { latitude, longitude }, metres } };
}

export function wireKind(kind: Kind) {
  return `KIND_${upper(checkChoice("kind", kind, KINDS))}` as const;
}

export function wireTime(when: When | undefined): string {
  return when instanceof Date ? when.toISOString() : (when ?? "");
}

/** The name of an enumeration's value as this package writes it. */
export function word(name: string, prefix: string): string {
  return name.replace(prefix, "").toLowerCase();
}

function upper<T extends string>(text: T): Uppercase<T> {
  return text.toUpperCase() as Uppercase<T>;
}
