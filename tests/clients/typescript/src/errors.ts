// What a program has to handle: a gRPC status, with the daemon's own reason for it.
import { type ServiceError, status } from "@grpc/grpc-js";

import { read } from "./proto.js";
import { type Reply, replyFromWire } from "./replies.js";

const DOMAIN = "switchboard";

/** A field of a malformed request, and what is wrong with it. */
export interface Violation {
  field: string;
  description: string;
}

/** The daemon, or gRPC on this side, answered with a status in place of a reply. */
export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly code: status;
  /** Stable, for example RATE_LIMITED. Empty when the status is not the daemon's own. */
  readonly reason: string = "";
  /** The call's, if it was one: `result(callId)` gives its reply, once there is a record. */
  readonly callId: string;
  /** Milliseconds, where waiting helps. */
  readonly retryAfterMs: number | undefined;
  readonly violations: readonly Violation[] = [];
  /** The reply behind the status, when it is short. */
  readonly reply: Reply | undefined;

  constructor(error: ServiceError, callId = "") {
    super(error.details, { cause: error });
    this.code = error.code;
    for (const { type_url: type, value } of details(error)) {
      if (type.endsWith("/google.rpc.ErrorInfo")) {
        const info = read.errorInfo(value);
        if (info.domain !== DOMAIN) continue;
        this.reason = info.reason;
        callId = info.metadata["call_id"] ?? callId;
      } else if (type.endsWith("/google.rpc.RetryInfo")) {
        const delay = read.retryInfo(value).retryDelay;
        this.retryAfterMs = delay ? delay.seconds * 1000 + delay.nanos / 1e6 : undefined;
      } else if (type.endsWith("/google.rpc.BadRequest")) {
        this.violations = read.badRequest(value).fieldViolations;
      } else if (type.endsWith("/switchboard.tools.v1.Reply")) {
        this.reply = replyFromWire(read.reply(value));
      }
    }
    this.callId = callId;
    this.message = `${this.reason || status[this.code]}: ${error.details}`;
  }

  /** Whether the daemon itself gave the status, not gRPC because of a lost connection. */
  get byDaemon(): boolean {
    return this.reason !== "";
  }
}

function details(error: ServiceError): { type_url: string; value: Buffer }[] {
  const [packed] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (!Buffer.isBuffer(packed)) return [];
  try {
    return read.status(packed).details;
  } catch {
    return [];
  }
}
