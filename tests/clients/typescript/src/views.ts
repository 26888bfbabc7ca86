// What a reply shows of a result that is kept whole, and where the rest of it is.
import { LosslessNumber } from "lossless-json";

import type { Json } from "./exact.js";
import type { Reply } from "./replies.js";
import type { Page } from "./results.js";

const MORE = /^\$more'*$/;
const CUT = "…[";
const TEXT = /^…\[(\d+) more characters: (\/.*) from (\d+)\]$/s;

/** How much of a result data holds. */
export interface View {
  /** Whether data has only what the tool's `summary_fields` name. */
  summary: boolean;
  /** How many markers stand in data for what was left out to keep within `maxTokens`. */
  leftOut: number;
  /** How many handles stand in data for binary content. */
  handles: number;
  /** Of data, estimated. */
  tokens: number;
  /** Of the whole result, estimated. */
  fullTokens: number;
  /** Of the whole result as JSON text. */
  fullBytes: number;
  /** Expressions of `summary_fields` that match nothing in this result. */
  unmatched: string[];
}

/** What data leaves out at one place. `resultPages(callId, rest.pointer, { first: rest.first })` reads
 * it. */
export interface Rest {
  /** JSON Pointer of the array, object or text in the full result. */
  pointer: string;
  /** Place of the first item, member or character that is left out. */
  first: number;
  /** How many are left out; undefined where the marker does not say. */
  count: number | undefined;
  /** What is counted; undefined for a value that is left out whole. */
  unit: "items" | "members" | "characters" | undefined;
}

/** Stands in data for binary content. `resultContent(callId, handle.pointer)` reads that. */
export interface Handle {
  pointer: string;
  mediaType: string;
  size: number;
  /** Hex, of the content. */
  sha256: string;
}

/**
 * What a reply's data leaves out to keep within `maxTokens`, in its order; or a page, of its only item when
 * that alone has no place. What a tool gave can look like a marker, and is then here too:
 * `metadata.view.leftOut` counts the true ones of a reply.
 */
export function leftOut(shown: Reply | Page): Rest[] {
  if ("metadata" in shown) return shown.metadata.view?.leftOut ? rests(shown.data) : [];
  const { value } = shown;
  const rows = Array.isArray(value) ? value : isObject(value) ? Object.keys(value) : [];
  return rows.length === 1 ? rests(value) : [];
}

function rests(data: Json): Rest[] {
  return [...inside(data)].flatMap(([name, value]) => {
    if (typeof value === "string") return ofText(value);
    return isObject(value) && MORE.test(name) ? ofMarker(value) : [];
  });
}

/**
 * What stands in a reply's data for binary content, in its order; as with `leftOut`, what only looks like
 * it is here too, and `metadata.view.handles` counts the true ones.
 */
export function handles(reply: Reply): Handle[] {
  if (!reply.metadata.view?.handles) return [];
  return [...inside(reply.data)].flatMap(([name, value]) => {
    if (name !== "$binary" || !isObject(value)) return [];
    const { pointer, media_type: mediaType, bytes: size, sha256 } = value;
    const told =
      typeof pointer === "string" &&
      typeof mediaType === "string" &&
      typeof size === "number" &&
      typeof sha256 === "string";
    return told ? [{ pointer, mediaType, size, sha256 }] : [];
  });
}

function ofText(text: string): Rest[] {
  const [, count, pointer, first] = TEXT.exec(text.slice(text.lastIndexOf(CUT))) ?? [];
  if (pointer === undefined) return [];
  return [{ pointer, first: Number(first), count: Number(count), unit: "characters" }];
}

function ofMarker(told: { [key: string]: Json }): Rest[] {
  const { pointer, first = 0 } = told;
  if (typeof pointer !== "string" || typeof first !== "number") return [];
  for (const unit of ["items", "members"] as const) {
    const count = told[unit];
    if (typeof count === "number") return [{ pointer, first, count, unit }];
  }
  return [{ pointer, first, count: undefined, unit: undefined }];
}

/** Every value in data with the name that it has there, in their order. */
function* inside(data: Json): Generator<[string, Json], void> {
  const waiting: [string, Json][] = [["", data]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    yield next;
    const [, value] = next;
    if (Array.isArray(value)) {
      for (const item of [...value].reverse()) waiting.push(["", item]);
    } else if (isObject(value)) {
      for (const member of Object.entries(value).reverse()) waiting.push(member);
    }
  }
}

function isObject(value: Json): value is { [key: string]: Json } {
  const whole = Array.isArray(value) || value instanceof LosslessNumber;
  return typeof value === "object" && value !== null && !whole;
}
