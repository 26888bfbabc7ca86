// Several calls in one request, of which some use the results of others.
import type { CallBatchResponse__Output } from "../generated/switchboard/tools/v1/CallBatchResponse.js";
import type { Arguments, CallOptions } from "./core.js";
import { type Reply, replyFromWire } from "./replies.js";

/** One call of a batch. */
export interface Entry {
  tool: string;
  arguments: Arguments;
  options?: Omit<CallOptions, "signal" | "timeoutMs">;
}

/** The replies of a batch, by the names of its calls. */
export interface Batch {
  replies: Map<string, Reply>;
  batchId: string;
  /** Whether nothing ran, because something was wrong with some call. */
  refused: boolean;
}

/** Stands in arguments for a place in the result of another call of the batch. */
export function ref(call: string, pointer = ""): { $ref: string } {
  return { $ref: `${call}#${pointer}` };
}

export function batchFromWire(wire: CallBatchResponse__Output): Batch {
  const replies = new Map<string, Reply>();
  for (const { name, reply } of wire.results) {
    if (!reply) throw new TypeError(`call \`${name}\` has no reply`);
    replies.set(name, replyFromWire(reply));
  }
  return { replies, batchId: wire.batchId, refused: wire.refused };
}
