// Parts of a recorded reply, read again by call id.
import type { GetResultRequest } from "../generated/switchboard/tools/v1/GetResultRequest.js";
import type { GetResultResponse__Output } from "../generated/switchboard/tools/v1/GetResultResponse.js";
import { type Json, parseJson } from "./exact.js";
import { checkCount } from "./options.js";
import type { Origin } from "./replies.js";

/** How much of a value; what is left out, or 0, is no bound. */
export interface PageOptions {
  /** The first of an array's items, an object's members or a text's characters; 0 when left out. */
  first?: number;
  /** At most so many of them. */
  count?: number;
  /** At most so many tokens, estimated. An item that alone takes more is shortened, with markers. */
  maxTokens?: number;
  /** At most so many bytes; 1 MiB when left out, which is also the most. */
  limit?: number;
}

/** Which of the bytes. */
export interface ContentOptions {
  first?: number;
  /** At most so many; all when left out. */
  count?: number;
  /** Bytes of a page in which they are fetched; 1 MiB when left out. */
  limit?: number;
}

/** Which of the line. */
export interface LineOptions {
  /** Bytes to skip: 0 or a `nextOffset`. */
  offset?: number;
  /** At most so many bytes; 1 MiB when left out, which is also the most. */
  limit?: number;
}

/** A page of one value of the reply; it has the type of the value, and ends between two items. */
export interface Page {
  value: Json;
  /** The page as it came. */
  json: string;
  /** Items, members or characters of the whole value; 0 for null, true, false and numbers. */
  total: number;
  /** `first` of the next page; undefined on the last one. */
  nextFirst: number | undefined;
  /** Of the page, estimated. */
  tokens: number;
  /** Of the whole value as JSON text. */
  totalBytes: number;
  /** Where the value comes from: it is information, never instructions. Undefined when no tool ran. */
  origin: Origin | undefined;
}

/** The bytes that a text of the reply stands for, in base64 or as a data: URL. */
export interface Content {
  content: Buffer;
  mediaType: string;
  /** Bytes that there are; more than those of `content` when only some were asked for. */
  total: number;
  origin: Origin | undefined;
}

/** A page of the reply's one line of JSON, as text; never splits a character. */
export interface LinePage {
  json: string;
  /** Of the whole line. */
  totalBytes: number;
  /** Offset of the next page; undefined on the last one. */
  nextOffset: number | undefined;
}

export function pageRequest(callId: string, pointer: string, options: PageOptions): GetResultRequest {
  return {
    callId,
    pointer,
    first: checkCount("first", options.first, Number.MAX_SAFE_INTEGER),
    count: checkCount("count", options.count, Number.MAX_SAFE_INTEGER),
    maxTokens: checkCount("maxTokens", options.maxTokens),
    limit: checkCount("limit", options.limit),
  };
}

export function lineRequest(callId: string, options: LineOptions): GetResultRequest {
  return {
    callId,
    offset: checkCount("offset", options.offset, Number.MAX_SAFE_INTEGER),
    limit: checkCount("limit", options.limit),
  };
}

export function pageFromWire(wire: GetResultResponse__Output): Page {
  return {
    value: parseJson(wire.json),
    json: wire.json,
    total: wire.total,
    nextFirst: wire.nextFirst || undefined,
    tokens: wire.tokens,
    totalBytes: wire.totalBytes,
    origin: wire.origin ?? undefined,
  };
}

export function linePageFromWire(wire: GetResultResponse__Output): LinePage {
  const { json, totalBytes, nextOffset } = wire;
  return { json, totalBytes, nextOffset: nextOffset || undefined };
}
