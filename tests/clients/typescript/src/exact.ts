// JSON whose numbers keep their value: `number` where that is exact, `bigint` for larger integers,
// `LosslessNumber` (its `value` is the text) for all others.
import { isInteger, isSafeNumber, LosslessNumber, parse, stringify } from "lossless-json";

export type Json =
  | null
  | boolean
  | number
  | bigint
  | LosslessNumber
  | string
  | Json[]
  | { [key: string]: Json };

/** Reads JSON text. Throws a SyntaxError when it is none. */
export function parseJson(text: string): Json {
  return parse(text, undefined, number) as Json;
}

/** As `parseJson`; null for no text at all. */
export function maybeJson(text: string): Json {
  return text === "" ? null : parseJson(text);
}

/** Writes JSON text. Takes what `JSON.stringify` takes, `bigint` and `LosslessNumber`. */
export function renderJson(value: unknown): string {
  const text = stringify(value);
  if (text === undefined) throw new TypeError("the value has no form in JSON");
  return text;
}

function number(text: string): number | bigint | LosslessNumber {
  if (isSafeNumber(text)) return Number(text);
  return isInteger(text) ? BigInt(text) : new LosslessNumber(text);
}
