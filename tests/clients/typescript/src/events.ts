// What a streamed call tells before its reply.
import type { CallEvent__Output } from "../generated/switchboard/tools/v1/CallEvent.js";
import { type Reply, replyFromWire } from "./replies.js";

export type Event =
  /** Always first. */
  | { kind: "accepted"; callId: string }
  /** The call waits for a person. */
  | { kind: "waiting"; approvalId: string }
  | { kind: "started" }
  /** A piece of what the tool wrote. Pieces can split a character. */
  | { kind: "output"; stream: "stdout" | "stderr"; data: Buffer }
  /** Always last. */
  | { kind: "reply"; reply: Reply };

/** Undefined for a kind that this version does not know. */
export function eventFromWire(wire: CallEvent__Output): Event | undefined {
  if (wire.accepted) return { kind: "accepted", callId: wire.accepted.callId };
  if (wire.waiting) return { kind: "waiting", approvalId: wire.waiting.approvalId };
  if (wire.started) return { kind: "started" };
  if (wire.output) {
    const stream = wire.output.stream === "STREAM_STDERR" ? "stderr" : "stdout";
    return { kind: "output", stream, data: wire.output.data };
  }
  return wire.reply ? { kind: "reply", reply: replyFromWire(wire.reply) } : undefined;
}
