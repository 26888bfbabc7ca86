// The services and messages, read from the proto files that the build lays beside this code.
import { fileURLToPath } from "node:url";

import type { Deserialize } from "@grpc/proto-loader";
import { loadSync } from "@grpc/proto-loader";

import type { BadRequest__Output } from "../generated/google/rpc/BadRequest.js";
import type { ErrorInfo__Output } from "../generated/google/rpc/ErrorInfo.js";
import type { RetryInfo__Output } from "../generated/google/rpc/RetryInfo.js";
import type { Status__Output } from "../generated/google/rpc/Status.js";
import type { MemoryServiceDefinition } from "../generated/switchboard/memory/v1/MemoryService.js";
import type { PolicyServiceDefinition } from "../generated/switchboard/policy/v1/PolicyService.js";
import type { ReasonServiceDefinition } from "../generated/switchboard/reason/v1/ReasonService.js";
import type { Reply__Output } from "../generated/switchboard/tools/v1/Reply.js";
import type { ToolServiceDefinition } from "../generated/switchboard/tools/v1/ToolService.js";

// The same options as those of the generated types, in package.json.
const loaded = loadSync(
  [
    "switchboard/tools/v1/tools.proto",
    "switchboard/policy/v1/policy.proto",
    "switchboard/memory/v1/memory.proto",
    "switchboard/reason/v1/reason.proto",
    "status.proto",
  ],
  {
    includeDirs: [fileURLToPath(new URL("../proto", import.meta.url))],
    longs: Number,
    enums: String,
    bytes: Buffer,
    defaults: true,
    oneofs: true,
  },
);

export const Tools = loaded["switchboard.tools.v1.ToolService"] as unknown as ToolServiceDefinition;
export const Policies = loaded[
  "switchboard.policy.v1.PolicyService"
] as unknown as PolicyServiceDefinition;

export const Memories = loaded[
  "switchboard.memory.v1.MemoryService"
] as unknown as MemoryServiceDefinition;

export const Reasons = loaded[
  "switchboard.reason.v1.ReasonService"
] as unknown as ReasonServiceDefinition;

export const read = {
  status: reader<Status__Output>("google.rpc.Status"),
  errorInfo: reader<ErrorInfo__Output>("google.rpc.ErrorInfo"),
  retryInfo: reader<RetryInfo__Output>("google.rpc.RetryInfo"),
  badRequest: reader<BadRequest__Output>("google.rpc.BadRequest"),
  reply: reader<Reply__Output>("switchboard.tools.v1.Reply"),
};

function reader<T>(name: string): Deserialize<T> {
  return (loaded[name] as unknown as { deserialize: Deserialize<T> }).deserialize;
}
